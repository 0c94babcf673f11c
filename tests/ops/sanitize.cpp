// Calls the kernels over odd shapes with every buffer exactly as large as it must be, under the sanitizers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "../../src/liquidtime/ops/cfc_scan/cpu/problem.h"
#include "../../src/liquidtime/ops/ltc_scan/cpu/problem.h"
#include "../../src/liquidtime/ops/native/boundary.h"

using liquidtime::CfcProblem;
using liquidtime::LtcProblem;

extern "C" {
int64_t lt_vector_bytes();
int64_t lt_cfc_packed_size(const CfcProblem*, int64_t);
int lt_cfc_pack(const CfcProblem*, int64_t);
int lt_cfc_step(const liquidtime::CfcStep*);
int lt_cfc_forward(const CfcProblem*, int64_t);
int lt_cfc_backward(const CfcProblem*, int64_t);
int64_t lt_bf16_unit();
int lt_ltc_forward(const LtcProblem*, int64_t);
int lt_ltc_backward(const LtcProblem*, int64_t);
}

namespace baseline {
extern const liquidtime::CfcTarget cfc_target;
}

namespace {

template <class T> struct Heap {
  std::vector<std::unique_ptr<T[]>> owned;
  std::mt19937 random{0};

  T* make(int64_t count, bool drawn = true) {
    owned.push_back(std::make_unique<T[]>(count));
    std::normal_distribution<double> normal;
    for (int64_t k = 0; k < count; ++k) owned.back()[k] = T(drawn ? 0.3 * normal(random) : 0.5);
    return owned.back().get();
  }
};

struct Shape {
  int64_t B, T, D, H, U, layers;
  bool ragged;
};

// Whether a call is refused by a code, with each fault that a problem can have put into it and taken out again.
template <class Problem, class Call> bool refuses(Problem& p, int code, int64_t Problem::* field, int64_t value, Call call) {
  const int64_t before = p.*field;
  p.*field = value;
  const bool good = call() == code;
  p.*field = before;
  return good;
}

template <class Problem> bool refuses_faults(Problem& p, int (*forward)(const Problem*, int64_t), int (*backward)(const Problem*, int64_t)) {
  bool good = forward(nullptr, 0) == liquidtime::bad_problem && backward(nullptr, 0) == liquidtime::bad_problem;
  for (const auto call : {forward, backward}) {
    good = good && call(&p, 2) == liquidtime::bad_problem && call(&p, -1) == liquidtime::bad_problem;
    const auto run = [&] { return call(&p, 0); };
    for (const auto field : {&Problem::B, &Problem::T, &Problem::D, &Problem::H})
      good = good && refuses(p, liquidtime::bad_problem, field, -1, run);
    good = good && refuses(p, liquidtime::bad_problem, &Problem::H, 0, run);
    const int64_t *lengths = p.lengths;
    std::vector<int64_t> wrong(p.B, p.T);
    p.lengths = wrong.data();
    for (const int64_t length : {p.T + 1, int64_t(-1), int64_t(1) << 40, INT64_MIN, INT64_MAX}) {
      wrong[p.B - 1] = length;
      good = good && call(&p, 0) == liquidtime::bad_length;
    }
    p.lengths = lengths;
    const void* x = p.x;
    p.x = nullptr;
    good = good && call(&p, 0) == liquidtime::bad_problem;
    p.x = x;
  }
  auto* dt = static_cast<float*>(const_cast<void*>(p.dt));
  for (const float value : {-1.0f, NAN, INFINITY}) {
    const float before = dt[0];
    dt[0] = value;
    good = good && forward(&p, 0) == liquidtime::bad_interval;
    dt[0] = before;
  }
  return good;
}

// Run the target that only rounds over a problem that was run on pairs, and compare: the two sum in another order, which
// may round an operand to its other neighbour.
bool rounded_as_in_pairs(CfcProblem p) {
  std::vector<int64_t> order(p.B);
  for (int64_t b = 0; b < p.B; ++b) order[b] = b;
  const liquidtime::Group group{p.B, 0, 0, nullptr};
  const liquidtime::Rows rows{&group, 1, order.data(), nullptr, p.B * p.T, 1};
  const auto *hn = static_cast<const float*>(p.hn), *dh0 = static_cast<const float*>(p.dh0);
  const std::vector<float> state(hn, hn + p.B * p.H), gradient(dh0, dh0 + p.B * p.H);
  p.threads = 1;
  bool good = baseline::cfc_target.forward[2](&p, &rows) == 0 && baseline::cfc_target.backward[2](&p, &rows) == 0;
  for (int64_t k = 0; k < p.B * p.H; ++k)
    good = good && std::fabs(hn[k] - state[k]) < 0.01 && std::fabs(dh0[k] - gradient[k]) < 0.01;
  return good;
}

template <class T>
bool run(const Shape& shape, int64_t kind, int64_t heads, int64_t memory, int64_t activation, bool bf16 = false) {
  Heap<T> heap;
  CfcProblem p{};
  const int64_t wide = sizeof(T) == 8, V = lt_vector_bytes() / sizeof(T);
  const auto padded = [V](int64_t n) { return (n + V - 1) / V * V; };
  p.B = shape.B, p.T = shape.T, p.D = shape.D, p.H = shape.H, p.layers = shape.layers, p.heads = heads;
  p.U = shape.layers ? shape.U : 0;
  p.kind = kind, p.memory = memory, p.activation = activation, p.head_activation = liquidtime::tanh_;
  p.state_amplitude = shape.B % 2, p.threads = 2, p.save = 1, p.need_dx = shape.B % 3 != 0, p.need_ddt = 1;
  p.forget_bias = 1, p.bf16 = bf16;
  const int64_t B = p.B, H = p.H, U = p.U, L = p.layers, Hp = padded(H), Up = padded(U);
  const int64_t passes = kind == liquidtime::cf_s_paper ? 2 : 1;
  const int64_t D0 = memory == liquidtime::input ? H : p.D, saved = kind == 2 ? 2 : kind == 3 ? 3 : 4;
  std::vector<int64_t> lengths(B);
  int64_t N = 0;
  for (int64_t b = 0; b < B; ++b) N += lengths[b] = shape.ragged ? (b * 7 + 3) % (p.T + 1) : p.T;
  if (shape.ragged) p.lengths = lengths.data();
  p.x = heap.make(B * p.T * p.D), p.x_row = p.T * p.D, p.x_step = p.D;
  p.dt = heap.make(B * p.T, false), p.dt_row = p.T, p.dt_step = 1;
  p.h0 = heap.make(B * H), p.m0 = heap.make(B * H);
  int64_t K = D0 + H;
  const auto matrix = [&](int64_t index, int64_t rows, int64_t columns) {
    p.weight[index] = heap.make(rows * columns), p.bias[index] = heap.make(rows);
    p.dweight[index] = heap.make(rows * columns), p.dbias[index] = heap.make(rows);
  };
  for (int64_t l = 0; l < L; ++l, K = U) matrix(l, U, K);
  matrix(L, heads * H, K);
  matrix(L + 1, 4 * H, p.D + H);
  p.A = heap.make(H), p.rate = heap.make(H, false), p.B_ = heap.make(H);
  if (shape.B % 2)
    for (int64_t k = 0; k < passes * L; ++k) p.mask[k] = heap.make(B * p.T * Up);
  p.y = heap.make(B * p.T * H), p.hn = heap.make(B * H), p.mn = heap.make(B * H);
  for (int64_t l = 0; l < L; ++l) {
    p.z[l] = heap.make(passes * N * Up), p.pre[l] = heap.make(passes * N * Up);
  }
  p.gates = heap.make(N * saved * Hp);
  p.division = heap.make(8 / sizeof(T));
  p.lstm_gates = heap.make(N * 4 * Hp), p.lstm_o = heap.make(N * Hp), p.lstm_m = heap.make(N * Hp);
  T* packed = static_cast<T*>(std::aligned_alloc(64, (lt_cfc_packed_size(&p, wide) + 63) / 64 * 64));
  p.packed = packed;
  bool good = lt_cfc_pack(&p, wide) == 0;
  good = good && lt_cfc_forward(&p, wide) == 0;
  p.packed = nullptr;
  good = good && lt_cfc_forward(&p, wide) == 0;
  std::free(packed);
  p.dy = heap.make(B * p.T * H), p.dy_row = p.T * H, p.dy_step = H;
  p.dx = heap.make(B * p.T * p.D), p.dh0 = heap.make(B * H), p.dm0 = heap.make(B * H), p.ddt = heap.make(B * p.T);
  p.dA = heap.make(H), p.drate = heap.make(H), p.dB = heap.make(H);
  if (shape.B != 7) p.dhn = heap.make(B * H), p.dmn = heap.make(B * H);
  p.threads = 1 + shape.B % 3;  // whatever it was in the forward run
  good = good && lt_cfc_backward(&p, wide) == 0;
  if (B && p.T)
    for (const int64_t groups : {int64_t(0), int64_t(-1), B + 1, INT64_MAX}) {
      int64_t before;
      std::memcpy(&before, p.division, sizeof before);
      std::memcpy(p.division, &groups, sizeof groups);
      good = good && lt_cfc_backward(&p, wide) == liquidtime::bad_problem;
      std::memcpy(p.division, &before, sizeof before);
    }
  for (int64_t k = 0; k < B * H; ++k)
    good = good && std::isfinite(static_cast<T*>(p.hn)[k]) && std::isfinite(static_cast<T*>(p.dh0)[k]);
  for (int64_t k = 0; k < heads * H; ++k) good = good && std::isfinite(static_cast<T*>(p.dbias[L])[k]);
  if (!wide && B && p.T && !shape.ragged) {
    good = good && refuses_faults(p, lt_cfc_forward, lt_cfc_backward);
    for (const auto call : {lt_cfc_forward, lt_cfc_backward}) {
      const auto again = [&] { return call(&p, 0); };
      for (const auto field : {&CfcProblem::kind, &CfcProblem::activation, &CfcProblem::head_activation,
                               &CfcProblem::memory, &CfcProblem::layers, &CfcProblem::heads})
        for (const int64_t value : {int64_t(-1), int64_t(99)})
          good = good && refuses(p, liquidtime::bad_problem, field, value, again);
    }
    liquidtime::CfcStep nothing{};
    good = good && lt_cfc_step(nullptr) == liquidtime::bad_problem && lt_cfc_step(&nothing) == liquidtime::bad_problem;
  }
  return good && (!bf16 || shape.ragged || rounded_as_in_pairs(p));
}

// Every third pair of neurons, or sensor and neuron, has a synapse.
template <class T>
liquidtime::Synapses synapses(Heap<T>& heap, Heap<int64_t>& places, int64_t from, int64_t to) {
  int64_t count = 0;
  int64_t* first = places.make(to + 1);
  for (int64_t j = 0; j < to; ++j) first[j] = count, count += (from + j % 3) / 3;
  first[to] = count;
  int64_t* pre = places.make(count);
  for (int64_t k = 0; k < count; ++k) pre[k] = k % from;
  const auto row = [&] { return heap.make(count); };
  return {count, first, pre, row(), row(), row(), row(), row(), row(), row(), row()};
}

template <class T> bool run_ltc(const Shape& shape, int64_t solver) {
  Heap<T> heap;
  Heap<int64_t> places;
  LtcProblem p{};
  const int64_t wide = sizeof(T) == 8, B = shape.B, H = shape.H, D = shape.D;
  p.B = B, p.T = shape.T, p.D = D, p.H = H, p.unfolds = 3, p.solver = solver, p.threads = 2, p.save = 1;
  p.need_dx = B % 3 != 0, p.need_ddt = 1;
  std::vector<int64_t> lengths(B);
  for (int64_t b = 0; b < B; ++b) lengths[b] = (b * 7 + 3) % (p.T + 1);
  if (shape.ragged) p.lengths = lengths.data();
  p.x = heap.make(B * p.T * D), p.x_row = p.T * D, p.x_step = D;
  p.dt = heap.make(B * p.T, false), p.dt_row = p.T, p.dt_step = 1;
  p.v0 = heap.make(B * H), p.sensory = synapses(heap, places, D, H), p.recurrent = synapses(heap, places, H, H);
  p.leak = heap.make(H, false), p.leak_current = heap.make(H), p.capacitance = heap.make(H, false);
  p.y = heap.make(B * p.T * H), p.vn = heap.make(B * H);
  p.states = heap.make(B * p.T * p.unfolds * (1 + 2 * liquidtime::stage_counts[solver]) * H);
  p.dy = heap.make(B * p.T * H), p.dy_row = p.T * H, p.dy_step = H, p.dvn = heap.make(B * H);
  p.dx = heap.make(B * p.T * D), p.dv0 = heap.make(B * H), p.ddt = heap.make(B * p.T);
  p.dleak = heap.make(H), p.dleak_current = heap.make(H), p.dcapacitance = heap.make(H);
  bool good = lt_ltc_forward(&p, wide) == 0 && lt_ltc_backward(&p, wide) == 0;
  for (int64_t k = 0; k < B * H; ++k)
    good = good && std::isfinite(static_cast<T*>(p.vn)[k]) && std::isfinite(static_cast<T*>(p.dv0)[k]);
  if (!wide && B && p.T && !shape.ragged) {
    good = good && refuses_faults(p, lt_ltc_forward, lt_ltc_backward);
    for (const auto call : {lt_ltc_forward, lt_ltc_backward}) {
      const auto again = [&] { return call(&p, 0); };
      good = good && refuses(p, liquidtime::bad_problem, &LtcProblem::solver, 5, again);
      good = good && refuses(p, liquidtime::bad_problem, &LtcProblem::unfolds, 0, again);
      if (p.recurrent.count) {
        auto* pre = const_cast<int64_t*>(p.recurrent.pre);
        for (const int64_t value : {H, int64_t(-1)}) {
          const int64_t before = pre[0];
          pre[0] = value;
          good = good && call(&p, 0) == liquidtime::bad_problem;
          pre[0] = before;
        }
      }
    }
  }
  return good;
}

}  // namespace

int main() {
  const Shape shapes[] = {{1, 1, 1, 1, 1, 1, false}, {1, 3, 2, 5, 7, 2, false},  {7, 4, 3, 19, 21, 1, true},
                          {8, 0, 2, 8, 8, 1, false}, {13, 5, 17, 33, 40, 0, true}, {70, 3, 4, 16, 290, 2, true}};
  int failures = lt_bf16_unit() != 1, runs = 0;
  if (failures) std::printf("pairs of bf16 differ from rounded numbers\n");
  for (const Shape& shape : shapes)
    for (int64_t kind = 0; kind < 4; ++kind)
      for (int64_t memory = 0; memory < 3; ++memory) {
        const int64_t heads = kind > 1 ? 1 : 3 + memory % 2, activation = (kind + memory) % 5;
        ++runs;
        if (run<float>(shape, kind, heads, memory, activation) && run<double>(shape, kind, heads, memory, activation) &&
            run<float>(shape, kind, heads, memory, activation, true))
          continue;
        std::printf("kind %d memory %d B %d T %d gives no finite result\n", int(kind), int(memory), int(shape.B),
                    int(shape.T));
        ++failures;
      }
  for (const Shape& shape : shapes)
    for (int64_t solver = 0; solver < 5; ++solver) {
      ++runs;
      if (run_ltc<float>(shape, solver) && run_ltc<double>(shape, solver)) continue;
      std::printf("ltc solver %d B %d T %d gives no finite result\n", int(solver), int(shape.B), int(shape.T));
      ++failures;
    }
  std::printf("%d runs, %d failures\n", runs, failures);
  return failures != 0;
}
