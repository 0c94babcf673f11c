/* The start of a program on a Cortex-M4: the vector table, memory, the floating-point unit, then main. For QEMU's board
 * mps2-an386; on a board of your own take its maker's startup file instead. */
#include <stdint.h>

extern uint32_t _data_from, _data_begin, _data_end, _bss_begin, _bss_end, _stack_top;
extern int main(void);
extern void exit(int code);
extern void initialise_monitor_handles(void); /* printf by semihosting */

void reset(void)
{
    uint32_t *from = &_data_from;
    for (uint32_t *to = &_data_begin; to < &_data_end;) *to++ = *from++;
    for (uint32_t *to = &_bss_begin; to < &_bss_end;) *to++ = 0;
    *(volatile uint32_t *)0xE000ED88 |= 0xF00000; /* let the program use the floating-point unit */
    initialise_monitor_handles();
    exit(main());
}

void stop(void)
{
    for (;;) {
    }
}

typedef union {
    uint32_t *stack;
    void (*handler)(void);
} vector;

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = &_stack_top}, {.handler = reset}, {.handler = stop}, {.handler = stop},
    {.handler = stop},      {.handler = stop},  {.handler = stop},
};
