// The structures that cross the C boundary for a scan of the CfC family; problem.py mirrors every field.
#pragma once

#include <cstdint>

#include "../../native/rows.h"

namespace liquidtime {

enum Kind : int64_t { gated = 0, no_gate = 1, cf_s = 2, cf_s_paper = 3 };
enum Activation : int64_t { relu = 0, silu = 1, gelu = 2, tanh_ = 3, lecun_tanh = 4 };
enum Memory : int64_t { none = 0, hidden = 1, input = 2 };

constexpr int64_t max_layers = 16;

// Axes: B rows, T steps, D inputs, H hidden units, U backbone units. "Samples" are the N = sum of lengths steps that
// are inside a series: group of rows by group (rows.h), step by step, within a step the longest series first. Hp and Up
// are H and U padded to whole vectors. A cell with two passes (cf_s_paper) has 2·N samples in z and pre.
struct CfcProblem {
  int64_t B, T, D, H, U, layers, heads;
  int64_t kind, activation, head_activation, memory, state_amplitude;
  int64_t threads, save, need_dx, need_ddt;
  int64_t bf16;  // whether the operands of products are rounded to bf16; only for float32
  double forget_bias;

  int64_t x_row, x_step, dt_row, dt_step, dy_row, dy_step;  // strides; the last axis is dense
  const void *x, *dt, *h0, *m0;                             // (B,T,D) (B,T) (B,H) (B,H)
  const int64_t* lengths;                                   // (B,), or null if every row has T steps

  const void* weight[max_layers + 2];  // backbone layers (U,·), heads (heads·H, F), memory (4H, D+H)
  const void* bias[max_layers + 2];
  const void *A, *rate, *B_;             // (H,) of the Cf-S forms
  const void* mask[2 * max_layers];      // (B,T,Up) what each pass's layer is multiplied by, or null
  void* packed;                          // the packed weights of a forward run, or null to pack them here

  void *y, *hn, *mn;                     // (B,T,H) (B,H) (B,H)
  void* z[max_layers];                   // (N,Up) what each layer gives, after dropout
  void* pre[max_layers];                 // (N,Up) what its activation was given, where the slope needs it
  void* gates;                           // (N,S·Hp) what the heads give, g1 g2 s [a] | u e | f f- e; layout.h says where
  void *lstm_gates, *lstm_o, *lstm_m;    // (N,4Hp) (N,Hp) (N,Hp)
  void* division;                        // an int64, in how many groups the forward run divided the batch

  const void* dy;                        // (B,T,H) the gradient that comes in, or null
  const void *dhn, *dmn;                 // (B,H) of the state after the steps, or null
  void *dh0, *dm0;                       // (B,H) of the state before them, or null where not asked for
  void *dx, *ddt;                        // where asked
  void* dweight[max_layers + 2];         // as weight and bias, dense; written, not added to
  void* dbias[max_layers + 2];
  void *dA, *drate, *dB;                 // (H,), or null
};

// The tensors that a run over whole sequences reads, in the form of tensors.h and in the order in which runs.py packs
// them; null for those that are absent.
struct CfcTensors {
  const void *x, *dt, *h0, *m0, *y, *saved, *dy, *dhn, *dmn;
  int64_t saved_count;       // how many numbers `saved` must have
  const void* weights[1];    // in the order of `cfc_scan`
};

// One sample for every layer of a stack: eight bytes per field, in the order in which step.py packs them. Tensors are
// in the form of tensors.h, with any strides if they are read and dense if they are written.
struct CfcStep {
  const CfcProblem* const* layers;
  const struct CfcSource* sources;
  int64_t count, source_count, wide;
  const void *x, *h, *m;    // (B,D) (layers,B,H), and the memory likewise or null
  const void* dt;           // (), (B,) or (B,1), or null where every row has `every_dt`
  double every_dt;
  const void *y, *hn, *mn;  // (B,H) (layers,B,H)
  const void* now[1];       // the weights, as many as there are sources
};

constexpr int64_t source_axes = 4;

// A weight from which a step was packed: its shape and bytes at that time.
struct CfcSource {
  const void* then;
  int64_t bytes, dim, sizes[source_axes];
};

// The functions of one build target, for float32, float64, and float32 with bf16 operands.
struct CfcTarget {
  int64_t bytes;  // of a vector register
  int64_t (*packed_size[3])(const CfcProblem*);
  void (*pack[3])(const CfcProblem*);
  int (*forward[3])(const CfcProblem*, const Rows*);
  int (*backward[3])(const CfcProblem*, const Rows*);
  int (*product)(int64_t, int64_t, int64_t, const float*, const float*, float*);  // with bf16 operands, as products.h says
  int (*outer)(int64_t, int64_t, int64_t, const float*, const float*, float*);
};

}  // namespace liquidtime
