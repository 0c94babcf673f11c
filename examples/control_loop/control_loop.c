/* A control loop in the manner of a ROS node: sensors report when they please, the controller ticks at a fixed rate, and
 * each tick reads the model's newest prediction. Two robots share one model; each has a state of its own. Build it with
 * the files of `liquidtime export MODEL --to c --out FOLDER`:
 *
 *   cc -std=c99 -O2 -IFOLDER control_loop.c FOLDER/model.c -lm -o control_loop && ./control_loop
 */
#include "model.h"
#include <math.h>
#include <stdio.h>

enum { ROBOTS = 2, TICKS = 5 };

typedef struct {
    model_state state;
    float statics[MODEL_STATICS + 1];
    int refused; /* readings that were not taken: late, or not finite */
} robot;

/* What a subscriber calls for each message: a stamp, a channel, a reading. */
static void on_message(robot *self, double stamp, int channel, float reading)
{
    float values[MODEL_CHANNELS];
    for (int i = 0; i < MODEL_CHANNELS; i++) values[i] = NAN;
    values[channel] = reading;
    if (model_update(&self->state, stamp, values) != MODEL_OK) self->refused++;
}

/* What a timer calls: the command from the newest prediction; 0 where there is none. */
static double on_tick(const robot *self)
{
    double prediction[MODEL_OUTPUTS];
    if (model_predict(&self->state, self->statics, prediction) != MODEL_OK) return 0.0;
    return prediction[MODEL_OUTPUTS - 1];
}

int main(void)
{
    static robot robots[ROBOTS];
    for (int r = 0; r < ROBOTS; r++) {
        model_start(&robots[r].state);
        for (int i = 0; i <= MODEL_STATICS; i++) robots[r].statics[i] = NAN;
    }
    for (int tick = 0; tick < TICKS; tick++) {
        on_message(&robots[0], tick, 0, 0.3f * (float)tick);
        on_message(&robots[1], tick + 0.25, 0, -0.3f * (float)tick);
        if (tick % 2 == 1) on_message(&robots[1], tick + 0.5, 0, 1.0f); /* a second sensor, now and then */
        on_message(&robots[0], tick - 1.0, 0, 9.0f);                    /* late: refused, and nothing changes */
        printf("%.6f %.6f\n", on_tick(&robots[0]), on_tick(&robots[1]));
    }
    printf("refused %d %d\n", robots[0].refused, robots[1].refused);
    return 0;
}
