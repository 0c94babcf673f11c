// The structure that crosses the C boundary for a scan of liquid time-constant neurons; problem.py mirrors every field.
#pragma once

#include <cstdint>

namespace liquidtime {

// Synapses sorted by the neuron they end on: those of neuron j are first[j]…first[j+1]-1, from neuron or sensor pre[·].
struct Synapses {
  int64_t count;
  const int64_t *first, *pre;
  const void *w, *gamma, *mu, *E;      // (count,)
  void *dw, *dgamma, *dmu, *dE;        // their gradients
};

enum Solver : int64_t { semi_implicit, euler, rk4, hold, midpoint };
constexpr int64_t stage_counts[] = {1, 1, 4, 1, 2};  // how often each solver reads the synapses in an unfold

// Axes: B rows, T steps, D sensory neurons, H neurons. Rows are processed in strips, one row per lane of a vector.
struct LtcProblem {
  int64_t B, T, D, H, unfolds, solver, threads, save, need_dx, need_ddt;
  int64_t x_row, x_step, dt_row, dt_step, dy_row, dy_step;  // strides; the last axis is dense
  const void *x, *dt, *v0;                                  // (B,T,D) (B,T) (B,H)
  const int64_t* lengths;                                   // (B,), or null if every row has T steps
  Synapses sensory, recurrent;
  const void *leak, *leak_current, *capacitance;            // (H,) gl, gl·vl, cm
  void *y, *vn;                                             // (B,T,H) (B,H)
  void* states;                                             // (B·T·unfolds·(1 + 2·stages)·H,) of each unfold v before it
                                                            // and what the synapses bring at its stages
  const void *dy, *dvn;                                     // gradients that come in, or null
  void *dx, *dv0, *ddt;                                     // gradients that go out; dx and ddt where asked
  void *dleak, *dleak_current, *dcapacitance;               // (H,)
};

struct LtcTarget {
  int (*forward[2])(const LtcProblem*, const int64_t* order);
  int (*backward[2])(const LtcProblem*, const int64_t* order);
};

}  // namespace liquidtime
