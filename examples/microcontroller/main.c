/* A microcontroller that reads sensors at uneven times and predicts after each reading, with a model in 3 functions and
 * no allocation. Build it with the files of `liquidtime export MODEL --to c --out FOLDER`:
 *
 *   arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -std=c99 -ffunction-sections
 *       -IFOLDER main.c startup.c FOLDER/model.c -T board.ld --specs=rdimon.specs -nostartfiles -Wl,--gc-sections -lm
 *       -o main.elf
 *   qemu-system-arm -M mps2-an386 -nographic -semihosting -kernel main.elf
 */
#include "model.h"
#include <math.h>
#include <stdio.h>

/* Stands for a timer and an analogue-digital converter: when the k-th reading came, and which channel it is of. */
static double read_clock(int k) { return 0.5 * k + (k % 3 == 0 ? 0.2 : 0.0); }
static float read_sensor(int k) { return (float)(k % 5) - 2.0f; }

int main(void)
{
    static model_state state; /* one for each series that is watched */
    float values[MODEL_CHANNELS], statics[MODEL_STATICS + 1];
    double prediction[MODEL_OUTPUTS];

    for (int i = 0; i <= MODEL_STATICS; i++) statics[i] = NAN; /* not known */
    model_start(&state);
    for (int k = 0; k < 10; k++) {
        int code;
        for (int i = 0; i < MODEL_CHANNELS; i++) values[i] = NAN; /* not observed, */
        values[0] = read_sensor(k);                               /* but the channel that was read */
        code = model_update(&state, read_clock(k), values);
        if (code != MODEL_OK) {
            printf("reading %d was refused with code %d\n", k, code);
            continue; /* the state is as before; the next reading may be right */
        }
        if (model_predict(&state, statics, prediction) == MODEL_OK) printf("%.6f\n", prediction[MODEL_OUTPUTS - 1]);
    }
    return 0;
}
