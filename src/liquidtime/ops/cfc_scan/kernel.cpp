// The scan of the CfC family, forward and backward, for one build target. See README.md for the equations.
//
// Each group of rows goes through all of its steps on one thread. The sums behind a product are finished block by
// block (gemm.h), so what a step computes stays in the first two caches; only what the backward run needs leaves them.
#include <cstdlib>

#include "../native/gemm.h"
#include "../native/parallel.h"
#include "problem.h"

namespace LT_TARGET {
namespace {

using namespace liquidtime;

template <class T> LT_INLINE Vec<T> activate(int64_t kind, Vec<T> v) {
  switch (kind) {
    case relu: return pick<T>(v > 0, v, pick<T>(v <= 0, Vec<T>{}, v));
    case silu: return v * vsigmoid<T>(v);
    case gelu: return v * (verf<T>(v * T(0.70710678118654752440)) + 1) * T(0.5);
    case tanh_: return vtanh<T>(v);
    default: return vtanh<T>(v * T(0.666)) * T(1.7159);
  }
}

// The slope of an activation, from what it gave (z) or, for silu and gelu, from what it was given (pre).
template <class T> LT_INLINE Vec<T> slope(int64_t kind, Vec<T> z, Vec<T> pre) {
  switch (kind) {
    case relu: return pick<T>(z > 0, splat<T>(1), Vec<T>{});
    case silu: {
      const Vec<T> s = vsigmoid<T>(pre);
      return s * (1 + pre * (1 - s));
    }
    case gelu: {
      const Vec<T> below = (verf<T>(pre * T(0.70710678118654752440)) + 1) * T(0.5);
      return below + pre * vexp<T>(pre * pre * T(-0.5)) * T(0.39894228040143267794);
    }
    case tanh_: return 1 - z * z;
    default: {
      const Vec<T> t = z * T(1 / 1.7159);
      return (1 - t * t) * T(1.7159 * 0.666);
    }
  }
}

constexpr bool slope_needs_input(int64_t kind) { return kind == silu || kind == gelu; }

template <class T> T* allocate(int64_t count) {
  const size_t bytes = (count * sizeof(T) + 64 + 63) / 64 * 64;
  return static_cast<T*>(std::aligned_alloc(64, bytes));
}

template <class T> LT_INLINE void copy(T* to, const T* from, int64_t n) { std::memcpy(to, from, n * sizeof(T)); }
template <class T> LT_INLINE void zero(T* to, int64_t n) { std::memset(to, 0, n * sizeof(T)); }

// Sizes and pointers in the kernel's own types.
template <class T> struct Sizes {
  const CfcProblem& p;
  int64_t V = lanes<T>, Hp, Up, D0, F0, F, passes, width0, width_lstm, saved, rows_max;

  explicit Sizes(const CfcProblem& problem) : p(problem) {
    Hp = padded<T>(p.H);
    Up = padded<T>(p.U);
    D0 = p.memory == input ? p.H : p.D;  // what the cell sees as its input
    F0 = D0 + p.H;
    F = p.layers > 0 ? p.U : F0;
    passes = p.kind == cf_s_paper ? 2 : 1;
    width0 = D0 + Hp;
    width_lstm = p.D + Hp;
    saved = p.kind == cf_s ? 2 : p.kind == cf_s_paper ? 3 : p.need_ddt ? 4 : 3;
  }

  const T* in(const void* q) const { return static_cast<const T*>(q); }
  T* out(void* q) const { return static_cast<T*>(q); }
  const T* x(int64_t b, int64_t t) const { return in(p.x) + b * p.x_row + t * p.x_step; }
  T dt(int64_t b, int64_t t) const { return in(p.dt)[b * p.dt_row + t * p.dt_step]; }
  // The hidden state that a step starts from.
  const T* before(int64_t b, int64_t t) const { return t ? out(p.y) + (b * p.T + t - 1) * p.H : in(p.h0) + b * p.H; }
  const T* bias(int64_t index) const { return in(p.bias[index]); }
};

template <class T> struct ForwardWeights {
  Packed<T> layer[max_layers], heads, lstm;
  T* biases[max_layers + 2];  // padded, head by head
  T *A, *rate, *B;

  int64_t lay_out(const Sizes<T>& s, T* data) {
    const CfcProblem& p = s.p;
    int64_t at = 0;
    auto place = [&](Packed<T>& W, int64_t heads_, int64_t units, int64_t K, int64_t index) {
      W.heads = heads_, W.units = units, W.K = K, W.data = data + at;
      at += (W.size() + 15) / 16 * 16;
      biases[index] = data + at;
      at += (heads_ * padded<T>(units) + 15) / 16 * 16;
    };
    for (int64_t l = 0; l < p.layers; ++l) place(layer[l], 1, p.U, l ? p.U : s.F0, l);
    place(heads, p.heads, p.H, s.F, p.layers);
    if (p.memory != none) place(lstm, 4, p.H, p.D + p.H, p.layers + 1);
    T** vectors[3] = {&A, &rate, &B};
    for (T** vector : vectors) {
      *vector = data + at;
      at += s.Hp + 16;
    }
    return at;
  }

  void fill(const Sizes<T>& s) {
    const CfcProblem& p = s.p;
    auto pack = [&](Packed<T>& W, int64_t index) {
      const T* w = s.in(p.weight[index]);
      const int64_t K = W.K, units = W.units;
      W.pack([=](int64_t head, int64_t unit, int64_t k) { return w[(head * units + unit) * K + k]; });
      const int64_t up = padded<T>(units);
      for (int64_t head = 0; head < W.heads; ++head)
        for (int64_t j = 0; j < up; ++j)
          biases[index][head * up + j] = j < units ? s.bias(index)[head * units + j] : T(0);
    };
    for (int64_t l = 0; l < p.layers; ++l) pack(layer[l], l);
    pack(heads, p.layers);
    if (p.memory != none) pack(lstm, p.layers + 1);
    const void* given[3] = {p.A, p.rate, p.B_};
    T* vectors[3] = {A, rate, B};
    for (int k = 0; k < 3; ++k)
      for (int64_t j = 0; j < s.Hp; ++j) vectors[k][j] = given[k] && j < p.H ? s.in(given[k])[j] : T(0);
  }
};

// Where the samples of the batch lie.
struct Places {
  const Rows& r;
  int64_t B, T;

  int64_t length(int64_t b) const { return r.lengths ? r.lengths[b] : T; }
  int64_t start(int64_t t) const { return r.starts ? r.starts[t] : t * B; }
  int64_t sample(int64_t b, int64_t t) const { return r.starts ? r.starts[t] + r.rank[b] : t * B + b; }
};

template <class T> struct ForwardRun {
  Sizes<T> s;
  Places places;
  ForwardWeights<T> w;
  int64_t N;
  bool failed = false;

  ForwardRun(const CfcProblem& p, const Rows& rows) : s(p), places{rows, p.B, p.T}, N(places.start(p.T)) {}

  void group(int64_t index) {
    const CfcProblem& p = s.p;
    const int64_t R = places.r.groups[index].rows, *rows = places.r.order + places.r.groups[index].first;
    const int64_t V = s.V, Hp = s.Hp, Up = s.Up, M = R * s.passes;
    const int64_t wide = s.width0 > s.width_lstm ? s.width0 : s.width_lstm;
    const int64_t sizes[] = {M * wide, M * wide, M * Up, M * Up, M * 8 * V, R * Hp, R * Hp};
    int64_t total = 0;
    for (int64_t size : sizes) total += (size + 15) / 16 * 16;
    T* memory = allocate<T>(total);
    if (!memory) {
      __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      return;
    }
    T *a0 = memory, *part[7];
    for (int k = 0, at = 0; k < 7; at += (sizes[k] + 15) / 16 * 16, ++k) part[k] = memory + at;
    T *a1 = part[1], *scratch = part[4], *h = part[5], *m = part[6];
    zero(h, R * Hp);
    zero(m, R * Hp);
    for (int64_t i = 0; i < R; ++i) {
      copy(h + i * Hp, s.in(p.h0) + rows[i] * p.H, p.H);
      if (p.memory != none) copy(m + i * Hp, s.in(p.m0) + rows[i] * p.H, p.H);
    }
    int64_t n = R;
    const int64_t steps = R ? places.length(rows[0]) : 0;
    for (int64_t t = 0; t <= steps; ++t) {
      while (n > 0 && places.length(rows[n - 1]) <= t) {
        --n;
        copy(s.out(p.hn) + rows[n] * p.H, h + n * Hp, p.H);
        if (p.memory != none) copy(s.out(p.mn) + rows[n] * p.H, m + n * Hp, p.H);
      }
      if (n == 0) break;
      T* first = a0;
      for (int64_t i = 0; i < n; ++i) {
        copy(a0 + i * s.width_lstm, s.x(rows[i], t), p.D);
        copy(a0 + i * s.width_lstm + p.D, h + i * Hp, Hp);
      }
      if (p.memory != none) {
        remember(n, rows, t, a0, a1, m, scratch);
        first = a1;
      }
      if (s.passes == 2)
        for (int64_t k = 0; k < n * s.width0; ++k) first[n * s.width0 + k] = -first[k];
      const T* below = first;
      int64_t lda = s.width0;
      for (int64_t l = 0; l < p.layers; ++l) {
        T* z = part[2 + l % 2];
        dense(l, n, rows, t, below, lda, z, scratch);
        below = z;
        lda = Up;
      }
      combine(n, rows, t, below, lda, first, h, scratch);
    }
    std::free(memory);
  }

  // The LSTM: a (n, [x ; h]) to the cell's input, [x ; o] or [o ; h], and the memory m.
  void remember(int64_t n, const int64_t* rows, int64_t t, const T* a, T* to, T* m, T* scratch) {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Hp = s.Hp;
    const T forget = static_cast<T>(p.forget_bias);
    const T* b = w.biases[p.layers + 1];
    const bool as_state = p.memory == hidden;
    for (int64_t i = 0; i < n; ++i) {
      const T* from = a + i * s.width_lstm;
      if (as_state)
        copy(to + i * s.width0, from, p.D);
      else
        copy(to + i * s.width0 + p.H, from + p.D, Hp);
    }
    product<T>(w.lstm, n, a, s.width_lstm, scratch, [&](const Block& block, const T* C) {
      const int64_t plane = n * block.width * V;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t sample = places.sample(rows[i], t);
        for (int64_t v = 0; v < block.width; ++v) {
          const int64_t u = block.unit + v * V;
          const T* c = C + (i * block.width + v) * V;
          const Vec<T> candidate = vtanh<T>(load<T>(c) + load<T>(b + u));
          const Vec<T> add = vsigmoid<T>(load<T>(c + plane) + load<T>(b + Hp + u));
          const Vec<T> keep = vsigmoid<T>(load<T>(c + 2 * plane) + load<T>(b + 2 * Hp + u) + forget);
          const Vec<T> open = vsigmoid<T>(load<T>(c + 3 * plane) + load<T>(b + 3 * Hp + u));
          const Vec<T> now = keep * load<T>(m + i * Hp + u) + add * candidate;
          const Vec<T> o = open * vtanh<T>(now);
          store<T>(m + i * Hp + u, now);
          if (as_state)
            store_first<T>(to + i * s.width0 + p.D + u, o, Hp - u);
          else
            store_first<T>(to + i * s.width0 + u, o, p.H - u);
          if (p.save) {
            T* g = s.out(p.lstm_gates) + sample * 4 * Hp + u;
            store<T>(g, candidate);
            store<T>(g + Hp, add);
            store<T>(g + 2 * Hp, keep);
            store<T>(g + 3 * Hp, open);
            store<T>(s.out(p.lstm_o) + sample * Hp + u, o);
            store<T>(s.out(p.lstm_m) + sample * Hp + u, now);
          }
        }
      }
    });
  }

  // One layer of the backbone, both passes.
  void dense(int64_t l, int64_t n, const int64_t* rows, int64_t t, const T* below, int64_t lda, T* z, T* scratch) {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Up = s.Up, M = n * s.passes, act = p.activation;
    const T* b = w.biases[l];
    const bool keep_input = p.save && slope_needs_input(act);
    product<T>(w.layer[l], M, below, lda, scratch, [&](const Block& block, const T* C) {
      for (int64_t k = 0; k < block.panels; ++k) {
        const int64_t u = block.unit + k * block.width * V;
        const T* c = C + k * M * block.width * V;
        for (int64_t i = 0; i < M; ++i) {
          const int64_t pass = i >= n, row = rows[i - pass * n], sample = pass * N + places.sample(row, t);
          const T* mask = s.in(p.mask[pass * p.layers + l]);
          for (int64_t v = 0; v < block.width; ++v) {
            const int64_t at = u + v * V;
            const Vec<T> pre = load<T>(c + (i * block.width + v) * V) + load<T>(b + at);
            Vec<T> out = activate<T>(act, pre);
            if (mask) out = out * load<T>(mask + (row * p.T + t) * Up + at);
            store<T>(z + i * Up + at, out);
            if (p.save) store<T>(s.out(p.z[l]) + sample * Up + at, out);
            if (keep_input) store<T>(s.out(p.pre[l]) + sample * Up + at, pre);
          }
        }
      }
    });
  }

  // The heads and what they make of the state.
  void combine(int64_t n, const int64_t* rows, int64_t t, const T* below, int64_t lda, const T* first, T* h,
               T* scratch) {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Hp = s.Hp, M = n * s.passes;
    const T* b = w.biases[p.layers];
    product<T>(w.heads, M, below, lda, scratch, [&](const Block& block, const T* C) {
      const int64_t plane = M * block.width * V, single = p.heads == 1 ? block.panels : 1;
      for (int64_t k = 0; k < single; ++k)
        for (int64_t i = 0; i < n; ++i) {
          const int64_t row = rows[i], sample = places.sample(row, t);
          const T dt = s.dt(row, t);
          for (int64_t v = 0; v < block.width; ++v) {
            const int64_t u = block.unit + (k * block.width + v) * V;
            const T* c = C + k * plane + (i * block.width + v) * V;
            T* g = p.save ? s.out(p.gates) + sample * s.saved * Hp + u : nullptr;
            Vec<T> now;
            if (p.kind == cf_s) {
              const Vec<T> f = load<T>(c) + load<T>(b + u);
              const Vec<T> e = vexp<T>(-dt * (load<T>(w.rate + u) + absolute<T>(f)));
              const Vec<T> A = load<T>(w.A + u);
              now = A - A * e * f;
              if (g) {
                store<T>(g, f);
                store<T>(g + Hp, e);
              }
            } else if (p.kind == cf_s_paper) {
              const Vec<T> f = vsigmoid<T>(load<T>(c) + load<T>(b + u));
              const Vec<T> negated = vsigmoid<T>(load<T>(c + n * block.width * V) + load<T>(b + u));
              const Vec<T> e = vexp<T>(-dt * (load<T>(w.rate + u) + f));
              const Vec<T> A = load<T>(w.A + u);
              const Vec<T> amplitude =
                  p.state_amplitude ? load_first<T>(first + i * s.width0 + s.D0 + u, Hp - u) - A : load<T>(w.B + u);
              now = amplitude * e * negated + A;
              if (g) {
                store<T>(g, f);
                store<T>(g + Hp, negated);
                store<T>(g + 2 * Hp, e);
              }
            } else {
              const Vec<T> g1 = activate<T>(p.head_activation, load<T>(c) + load<T>(b + u));
              const Vec<T> g2 = activate<T>(p.head_activation, load<T>(c + plane) + load<T>(b + Hp + u));
              const Vec<T> a = load<T>(c + 2 * plane) + load<T>(b + 2 * Hp + u);
              const Vec<T> q = p.heads == 4 ? a * dt + (load<T>(c + 3 * plane) + load<T>(b + 3 * Hp + u)) : -a * dt;
              const Vec<T> gate = vsigmoid<T>(q);
              now = p.kind == gated ? (1 - gate) * g1 + gate * g2 : g1 + gate * g2;
              if (g) {
                store<T>(g, g1);
                store<T>(g + Hp, g2);
                store<T>(g + 2 * Hp, gate);
                if (s.saved == 4) store<T>(g + 3 * Hp, a);
              }
            }
            store<T>(h + i * Hp + u, now);
            store_first<T>(s.out(p.y) + (row * p.T + t) * p.H + u, now, p.H - u);
          }
        }
    });
  }
};

template <class T> struct BackwardRun {
  Sizes<T> s;
  Places places;
  int64_t N, begin, M;  // all samples, the first of this run's steps, and how many these have
  bool failed = false;
  Packed<T> layer[max_layers], heads, lstm;
  T *A, *rate, *B;
  T* sums = nullptr;  // (groups, sums_size) bias and vector gradients of each group
  int64_t sums_size = 0, sum_at[max_layers + 2], sum_A, sum_rate, sum_B;
  bool whole0, whole_lstm;  // whether the gradient of [x ; h] is wanted whole or only that of h

  BackwardRun(const CfcProblem& p, const Rows& rows)
      : s(p), places{rows, p.B, p.T}, N(places.start(p.T)), begin(places.start(p.first)), M(places.start(p.last) - begin) {}

  int64_t lay_out(T* data) {
    const CfcProblem& p = s.p;
    whole_lstm = p.need_dx;
    whole0 = p.need_dx || p.memory == input;
    int64_t at = 0;
    auto place = [&](Packed<T>& W, int64_t units, int64_t K) {
      W.heads = 1, W.units = units, W.K = K, W.data = data + at;
      at += (W.size() + 15) / 16 * 16;
    };
    const int64_t bottom = whole0 ? s.F0 : p.H;
    for (int64_t l = 0; l < p.layers; ++l) place(layer[l], l ? p.U : bottom, p.U);
    place(heads, p.layers ? p.U : bottom, p.heads * s.Hp);
    if (p.memory != none) place(lstm, whole_lstm ? p.D + p.H : p.H, 4 * s.Hp);
    T** vectors[3] = {&A, &rate, &B};
    for (T** vector : vectors) {
      *vector = data + at;
      at += s.Hp + 16;
    }
    return at;
  }

  void fill() {
    const CfcProblem& p = s.p;
    const int64_t H = p.H, Hp = s.Hp, skip = whole0 ? 0 : s.D0;
    for (int64_t l = 0; l < p.layers; ++l) {
      const T* W = s.in(p.weight[l]);
      const int64_t F = l ? p.U : s.F0, from = l ? 0 : skip;
      layer[l].pack([=](int64_t, int64_t unit, int64_t k) { return W[k * F + from + unit]; });
    }
    const T* W = s.in(p.weight[p.layers]);
    const int64_t F = s.F, from = p.layers ? 0 : skip;
    heads.pack([=](int64_t, int64_t unit, int64_t k) {
      return k % Hp < H ? W[(k / Hp * H + k % Hp) * F + from + unit] : T(0);
    });
    if (p.memory != none) {
      const T* M = s.in(p.weight[p.layers + 1]);
      const int64_t width = p.D + H, start = whole_lstm ? 0 : p.D;
      lstm.pack([=](int64_t, int64_t unit, int64_t k) {
        return k % Hp < H ? M[(k / Hp * H + k % Hp) * width + start + unit] : T(0);
      });
    }
    const void* given[3] = {p.A, p.rate, p.B_};
    T* vectors[3] = {A, rate, B};
    for (int k = 0; k < 3; ++k)
      for (int64_t j = 0; j < Hp; ++j) vectors[k][j] = given[k] && j < H ? s.in(given[k])[j] : T(0);
  }

  void lay_out_sums() {
    const CfcProblem& p = s.p;
    for (int64_t l = 0; l < p.layers; ++l) sum_at[l] = sums_size, sums_size += s.Up;
    sum_at[p.layers] = sums_size, sums_size += p.heads * s.Hp;
    sum_at[p.layers + 1] = sums_size, sums_size += p.memory != none ? 4 * s.Hp : 0;
    sum_A = sums_size, sums_size += s.Hp;
    sum_rate = sums_size, sums_size += s.Hp;
    sum_B = sums_size, sums_size += s.Hp;
    sums_size = (sums_size + 15) / 16 * 16;
  }

  // Add the groups' sums in their order, whichever thread made them.
  void finish() {
    const CfcProblem& p = s.p;
    auto gather = [&](void* to, int64_t at, int64_t size) {
      if (!to) return;
      T* out = s.out(to);
      for (int64_t j = 0; j < size; ++j) out[j] = 0;
      for (int64_t g = 0; g < places.r.count; ++g)
        for (int64_t j = 0; j < size; ++j) out[j] += sums[g * sums_size + at + j];
    };
    for (int64_t l = 0; l < p.layers; ++l) gather(p.dbias[l], sum_at[l], s.Up);
    gather(p.dbias[p.layers], sum_at[p.layers], p.heads * s.Hp);
    if (p.memory != none) gather(p.dbias[p.layers + 1], sum_at[p.layers + 1], 4 * s.Hp);
    gather(p.dA, sum_A, s.Hp);
    gather(p.drate, sum_rate, s.Hp);
    gather(p.dB, sum_B, s.Hp);
  }

  struct Scratch {
    T *dh, *dm, *dheads, *dz[2], *g0, *g1, *dlstm, *blocks, *direct;
  };

  void group(int64_t index) {
    const CfcProblem& p = s.p;
    const int64_t R = places.r.groups[index].rows, *rows = places.r.order + places.r.groups[index].first;
    const int64_t V = s.V, Hp = s.Hp, Up = s.Up, all = R * s.passes;
    const int64_t stride0 = padded<T>(whole0 ? s.F0 : p.H), stride1 = padded<T>(p.D + p.H);
    const int64_t sizes[] = {R * Hp,      R * Hp,     all * p.heads * Hp, all * Up, all * Up, all * stride0,
                             R * stride1, R * 4 * Hp, all * 8 * V,        R * Hp};
    int64_t total = 0;
    for (int64_t size : sizes) total += (size + 15) / 16 * 16;
    T* memory = allocate<T>(total);
    if (!memory) {
      __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      return;
    }
    T* part[10];
    for (int64_t k = 0, at = 0; k < 10; at += (sizes[k] + 15) / 16 * 16, ++k) part[k] = memory + at;
    Scratch c{part[0], part[1], part[2], {part[3], part[4]}, part[5], part[6], part[7], part[8], part[9]};
    zero(c.dh, R * Hp);
    zero(c.dm, R * Hp);
    zero(c.direct, R * Hp);
    T* sum = sums + index * sums_size;
    int64_t n = 0;
    const int64_t longest = R ? places.length(rows[0]) : 0;
    for (int64_t t = (longest < p.last ? longest : p.last) - 1; t >= p.first; --t) {
      for (; n < R && places.length(rows[n]) > t; ++n) {
        copy(c.dh + n * Hp, s.out(p.dh0) + rows[n] * p.H, p.H);
        if (p.memory != none) copy(c.dm + n * Hp, s.out(p.dm0) + rows[n] * p.H, p.H);
      }
      combine(n, rows, t, c, sum);
      const T* above = c.dheads;
      int64_t lda = p.heads * Hp;
      const Packed<T>* W = &heads;
      for (int64_t l = p.layers - 1; l >= 0; --l) {
        T* dz = c.dz[l % 2];
        dense(*W, l, n, rows, t, above, lda, dz, c.blocks, sum + sum_at[l]);
        above = dz;
        lda = Up;
        W = &layer[l];
      }
      into(*W, n * s.passes, above, lda, c.g0, stride0, c.blocks);
      if (s.passes == 2)
        for (int64_t k = 0; k < n * stride0; ++k) c.g0[k] -= c.g0[n * stride0 + k];
      inputs(n, rows, t);
      const int64_t h_at = whole0 ? s.D0 : 0;
      if (p.memory == none) {
        for (int64_t i = 0; i < n; ++i) {
          const T* g = c.g0 + i * stride0;
          if (p.need_dx) copy(s.out(p.dx) + (rows[i] * p.T + t) * p.D, g, p.D);
          for (int64_t j = 0; j < p.H; ++j) c.dh[i * Hp + j] = g[h_at + j] + c.direct[i * Hp + j];
        }
        continue;
      }
      const bool as_state = p.memory == hidden;
      const int64_t o_at = as_state ? h_at : 0;
      if (as_state)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < p.H; ++j) c.g0[i * stride0 + o_at + j] += c.direct[i * Hp + j];
      remember(n, rows, t, c, stride0, o_at, sum + sum_at[p.layers + 1]);
      const int64_t from_lstm = whole_lstm ? p.D : 0;
      into(lstm, n, c.dlstm, 4 * Hp, c.g1, stride1, c.blocks);
      for (int64_t i = 0; i < n; ++i) {
        const T *g0 = c.g0 + i * stride0, *g1 = c.g1 + i * stride1;
        T* dh = c.dh + i * Hp;
        if (p.need_dx) {
          T* dx = s.out(p.dx) + (rows[i] * p.T + t) * p.D;
          for (int64_t j = 0; j < p.D; ++j) dx[j] = as_state ? g1[j] + g0[j] : g1[j];
        }
        for (int64_t j = 0; j < p.H; ++j)
          dh[j] = as_state ? g1[from_lstm + j] : g1[from_lstm + j] + g0[h_at + j] + c.direct[i * Hp + j];
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      copy(s.out(p.dh0) + rows[i] * p.H, c.dh + i * Hp, p.H);
      if (p.memory != none) copy(s.out(p.dm0) + rows[i] * p.H, c.dm + i * Hp, p.H);
    }
    std::free(memory);
  }

  // g (count, stride) = above·W.
  void into(const Packed<T>& W, int64_t count, const T* above, int64_t lda, T* g, int64_t stride, T* blocks) {
    const int64_t V = s.V;
    product<T>(W, count, above, lda, blocks, [&](const Block& block, const T* C) {
      for (int64_t k = 0; k < block.panels; ++k)
        for (int64_t i = 0; i < count; ++i)
          for (int64_t v = 0; v < block.width; ++v)
            store<T>(g + i * stride + block.unit + (k * block.width + v) * V,
                     load<T>(C + ((k * count + i) * block.width + v) * V));
    });
  }

  // The rows [x ; h] that the layers and the memory were given, for the products after the loop.
  void inputs(int64_t n, const int64_t* rows, int64_t t) {
    const CfcProblem& p = s.p;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t b = rows[i], sample = places.sample(b, t), local = sample - begin;
      const T* h = s.before(b, t);
      T* cell = s.out(p.cell_input) + local * s.width0;
      const T* o = p.memory == none ? nullptr : s.out(p.lstm_o) + sample * s.Hp;
      zero(cell + s.width0 - s.V, s.V);
      copy(cell, p.memory == input ? o : s.x(b, t), s.D0);
      copy(cell + s.D0, p.memory == hidden ? o : h, p.H);
      if (p.memory != none) {
        T* to = s.out(p.lstm_input) + local * s.width_lstm;
        zero(to + s.width_lstm - s.V, s.V);
        copy(to, s.x(b, t), p.D);
        copy(to + p.D, h, p.H);
      }
      if (s.passes == 2)
        for (int64_t k = 0; k < s.width0; ++k) cell[M * s.width0 + k] = -cell[k];
    }
  }

  // From the gradient of the new state to that of the heads.
  void combine(int64_t n, const int64_t* rows, int64_t t, Scratch& c, T* sum) {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Hp = s.Hp, width = p.heads * Hp;
    T* db = sum + sum_at[p.layers];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t b = rows[i], sample = places.sample(b, t);
      const T dt = s.dt(b, t);
      const T* g = s.in(p.gates) + sample * s.saved * Hp;
      const T* dy = p.dy ? s.in(p.dy) + b * p.dy_row + t * p.dy_step : nullptr;
      T *near = c.dheads + i * width, *far = s.out(p.dheads) + (sample - begin) * width;
      Vec<T> over_dt{};
      auto give = [&](int64_t at, Vec<T> d) {
        store<T>(near + at, d);
        store<T>(far + at, d);
        store<T>(db + at, load<T>(db + at) + d);
      };
      for (int64_t u = 0; u < Hp; u += V) {
        Vec<T> d = load<T>(c.dh + i * Hp + u);
        if (dy) d += load_first<T>(dy + u, p.H - u);
        if (p.kind == cf_s) {
          const Vec<T> f = load<T>(g + u), e = load<T>(g + Hp + u), a = load<T>(A + u);
          const Vec<T> fall = d * a * e, held = load<T>(rate + u) + absolute<T>(f);
          store<T>(sum + sum_A + u, load<T>(sum + sum_A + u) + d * (1 - e * f));
          store<T>(sum + sum_rate + u, load<T>(sum + sum_rate + u) + fall * f * dt);
          over_dt += fall * f * held;
          give(u, -fall * (1 - dt * absolute<T>(f)));
        } else if (p.kind == cf_s_paper) {
          const Vec<T> f = load<T>(g + u), negated = load<T>(g + Hp + u), e = load<T>(g + 2 * Hp + u);
          const Vec<T> a = load<T>(A + u);
          Vec<T> amplitude = load<T>(B + u);
          if (p.state_amplitude) {
            const T* h = p.memory == hidden ? s.out(p.lstm_o) + sample * Hp : s.before(b, t);
            amplitude = load_first<T>(h + u, p.H - u) - a;
          }
          const Vec<T> d_amplitude = d * e * negated, d_exponent = d * amplitude * negated * e;
          Vec<T> d_A = d;
          if (p.state_amplitude) {
            d_A -= d_amplitude;
            store<T>(c.direct + i * Hp + u, d_amplitude);
          } else {
            store<T>(sum + sum_B + u, load<T>(sum + sum_B + u) + d_amplitude);
          }
          store<T>(sum + sum_A + u, load<T>(sum + sum_A + u) + d_A);
          store<T>(sum + sum_rate + u, load<T>(sum + sum_rate + u) - d_exponent * dt);
          over_dt -= d_exponent * (load<T>(rate + u) + f);
          give(u, -d_exponent * dt * f * (1 - f));
          const Vec<T> second = d * amplitude * e * negated * (1 - negated);
          store<T>(near + n * width + u, second);
          store<T>(far + M * width + u, second);
          store<T>(db + u, load<T>(db + u) + second);
        } else {
          const Vec<T> g1 = load<T>(g + u), g2 = load<T>(g + Hp + u), gate = load<T>(g + 2 * Hp + u);
          const Vec<T> d1 = p.kind == gated ? d * (1 - gate) : d;
          const Vec<T> open = p.kind == gated ? g2 - g1 : g2;
          const Vec<T> dq = d * open * gate * (1 - gate);
          give(u, d1 * slope<T>(p.head_activation, g1, g1));
          give(Hp + u, d * gate * slope<T>(p.head_activation, g2, g2));
          give(2 * Hp + u, p.heads == 4 ? dq * dt : -dq * dt);
          if (p.heads == 4) give(3 * Hp + u, dq);
          if (p.need_ddt) {
            const Vec<T> a = load<T>(g + 3 * Hp + u);
            over_dt += p.heads == 4 ? dq * a : -dq * a;
          }
        }
      }
      if (p.need_ddt) s.out(p.ddt)[b * p.T + t] = LT_TARGET::sum<T>(over_dt);
    }
  }

  // Through the product above a layer and the layer's activation: dz (count, Up).
  void dense(const Packed<T>& W, int64_t l, int64_t n, const int64_t* rows, int64_t t, const T* above, int64_t lda,
             T* dz, T* blocks, T* db) {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Up = s.Up, count = n * s.passes, act = p.activation;
    const bool from_input = slope_needs_input(act);
    product<T>(W, count, above, lda, blocks, [&](const Block& block, const T* C) {
      for (int64_t k = 0; k < block.panels; ++k)
        for (int64_t i = 0; i < count; ++i) {
          const int64_t pass = i >= n, row = rows[i - pass * n], place = places.sample(row, t);
          const int64_t sample = pass * N + place, local = pass * M + place - begin;
          const T* mask = s.in(p.mask[pass * p.layers + l]);
          for (int64_t v = 0; v < block.width; ++v) {
            const int64_t u = block.unit + (k * block.width + v) * V;
            Vec<T> d = load<T>(C + ((k * count + i) * block.width + v) * V);
            Vec<T> z = load<T>(s.out(p.z[l]) + sample * Up + u);
            if (mask) {
              const Vec<T> scale = load<T>(mask + (row * p.T + t) * Up + u);
              d = d * scale;
              z = pick<T>(scale > 0, z / scale, Vec<T>{});
            }
            d = d * slope<T>(act, z, from_input ? load<T>(s.out(p.pre[l]) + sample * Up + u) : z);
            store<T>(dz + i * Up + u, d);
            store<T>(s.out(p.dpre[l]) + local * Up + u, d);
            store<T>(db + u, load<T>(db + u) + d);
          }
        }
    });
  }

  // From the gradient of the LSTM's output, in g0 from column `o_at` on, and of its memory, to that of its gates.
  void remember(int64_t n, const int64_t* rows, int64_t t, Scratch& c, int64_t stride0, int64_t o_at, T* db) {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Hp = s.Hp;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t b = rows[i], sample = places.sample(b, t);
      const T* g = s.in(p.lstm_gates) + sample * 4 * Hp;
      const T* m = s.in(p.lstm_m) + sample * Hp;
      const T* m_before = t ? s.in(p.lstm_m) + places.sample(b, t - 1) * Hp : s.in(p.m0) + b * p.H;
      T *near = c.dlstm + i * 4 * Hp, *far = s.out(p.dlstm) + (sample - begin) * 4 * Hp;
      auto give = [&](int64_t at, Vec<T> d) {
        store<T>(near + at, d);
        store<T>(far + at, d);
        store<T>(db + at, load<T>(db + at) + d);
      };
      for (int64_t u = 0; u < Hp; u += V) {
        const Vec<T> candidate = load<T>(g + u), add = load<T>(g + Hp + u), keep = load<T>(g + 2 * Hp + u);
        const Vec<T> open = load<T>(g + 3 * Hp + u), out = vtanh<T>(load<T>(m + u));
        const Vec<T> before = load_first<T>(m_before + u, p.H - u);
        const Vec<T> d = load_first<T>(c.g0 + i * stride0 + o_at + u, p.H - u);
        const Vec<T> dm = load<T>(c.dm + i * Hp + u) + d * open * (1 - out * out);
        give(u, dm * add * (1 - candidate * candidate));
        give(Hp + u, dm * candidate * add * (1 - add));
        give(2 * Hp + u, dm * before * keep * (1 - keep));
        give(3 * Hp + u, d * out * open * (1 - open));
        store<T>(c.dm + i * Hp + u, dm * keep);
      }
    }
  }
};

template <class T> int64_t forward_size(const CfcProblem* p) {
  return ForwardWeights<T>().lay_out(Sizes<T>(*p), nullptr) * static_cast<int64_t>(sizeof(T));
}

template <class T> void pack_forward(const CfcProblem* p) {
  Sizes<T> s(*p);
  ForwardWeights<T> w;
  w.lay_out(s, static_cast<T*>(p->packed));
  w.fill(s);
}

template <class T> int64_t backward_size(const CfcProblem* p) {
  const Rows none{};
  return BackwardRun<T>(*p, none).lay_out(nullptr) * static_cast<int64_t>(sizeof(T));
}

template <class T> void pack_backward(const CfcProblem* p) {
  const Rows none{};
  BackwardRun<T> run(*p, none);
  run.lay_out(static_cast<T*>(p->packed));
  run.fill();
}

template <class Run> void one_group(void* run, int64_t index) { static_cast<Run*>(run)->group(index); }

template <class T> int forward(const CfcProblem* p, const Rows* rows) {
  ForwardRun<T> run(*p, *rows);
  T* own = p->packed ? nullptr : allocate<T>(run.w.lay_out(run.s, nullptr));
  if (!p->packed && !own) return 1;
  run.w.lay_out(run.s, p->packed ? static_cast<T*>(p->packed) : own);
  if (own) run.w.fill(run.s);
  run_pieces(p->threads, rows->count, one_group<ForwardRun<T>>, &run);
  std::free(own);
  return run.failed;
}

template <class T> int backward(const CfcProblem* p, const Rows* rows) {
  BackwardRun<T> run(*p, *rows);
  T* own = p->packed ? nullptr : allocate<T>(run.lay_out(nullptr));
  run.lay_out_sums();
  run.sums = allocate<T>(rows->count * run.sums_size);
  if ((!p->packed && !own) || !run.sums) {
    std::free(own);
    std::free(run.sums);
    return 1;
  }
  run.lay_out(p->packed ? static_cast<T*>(p->packed) : own);
  if (own) run.fill();
  zero(run.sums, rows->count * run.sums_size);
  run_pieces(p->threads, rows->count, one_group<BackwardRun<T>>, &run);
  run.finish();
  std::free(own);
  std::free(run.sums);
  return run.failed;
}

}  // namespace

extern const liquidtime::CfcTarget cfc_target;
const liquidtime::CfcTarget cfc_target = {
    LT_BYTES,
    {{forward_size<float>, forward_size<double>}, {backward_size<float>, backward_size<double>}},
    {{pack_forward<float>, pack_forward<double>}, {pack_backward<float>, pack_backward<double>}},
    {forward<float>, forward<double>},
    {backward<float>, backward<double>},
};

}  // namespace LT_TARGET
