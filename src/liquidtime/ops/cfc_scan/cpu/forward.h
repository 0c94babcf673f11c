// The forward run: each group of rows goes through all of its steps on one thread.
//
// The computations after a product are done block by block (gemm.h), so the results of a step stay in the first two
// levels of cache; only the data for the backward run leave them.
#pragma once

#include "activations.h"
#include "layout.h"

namespace LT_TARGET {
namespace {

template <class T> struct ForwardWeights {
  Packed<T> layer[max_layers], heads, lstm;
  T* biases[max_layers + 2];  // padded, head by head
  T *A, *rate, *B;

  void lay_out(const Sizes<T>& s, Parts<T>& parts) {
    const CfcProblem& p = s.p;
    auto place = [&](Packed<T>& W, int64_t heads_, int64_t units, int64_t K, int64_t index) {
      W.heads = heads_, W.units = units, W.K = K, W.data = parts.take(W.size());
      biases[index] = parts.take(heads_ * padded<T>(units));
    };
    for (int64_t l = 0; l < p.layers; ++l) place(layer[l], 1, p.U, l ? p.U : s.F0, l);
    place(heads, p.heads, p.H, s.F, p.layers);
    if (p.memory != none) place(lstm, 4, p.H, p.D + p.H, p.layers + 1);
    for (T** vector : {&A, &rate, &B}) *vector = parts.take(s.Hp);
  }

  template <class Op> void fill(const Sizes<T>& s) {
    const CfcProblem& p = s.p;
    auto pack = [&](Packed<T>& W, int64_t index) {
      const T* w = s.in(p.weight[index]);
      const int64_t K = W.K, units = W.units;
      W.pack([=](int64_t head, int64_t k) { return Column<T>{w + head * units * K + k, K}; });
      W.template convert<Op>();
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

template <class Op> struct ForwardRun {
  using T = typename Op::Number;
  static constexpr int64_t far = int64_t(24) << 20;  // saved data of more bytes would not be in a cache when needed

  Sizes<T> s;
  const Rows& all;
  ForwardWeights<T> w;
  int64_t N;
  bool past_caches;
  T* memory = nullptr;  // (workers, worker_size)
  int64_t worker_size = 0;

  struct Scratch {
    T *rows[2];  // (rows·passes, [x ; h]) of this step and the next, which alternate
    T *cell, *z[2];
    Bench<T> bench;
    T* m;
  };

  ForwardRun(const CfcProblem& p, const Rows& rows) : s(p), all(rows), N(rows.samples) {
    const auto address = reinterpret_cast<uintptr_t>(p.gates);
    past_caches = N * s.saved * s.Hp * int64_t(sizeof(T)) > far && address % LT_BYTES == 0;
  }

  Scratch scratch(Parts<T>& parts, int64_t R) const {
    const int64_t M = R * s.passes, rows_wide = padded<T>(most_of(s.F0, s.p.D + s.p.H));
    return {{parts.take(M * s.width_lstm), parts.take(M * s.width_lstm)},
            parts.take(s.p.memory != none ? M * s.width0 : 0),
            {parts.take(M * s.Up), parts.take(M * s.Up)},
            {parts.take(M * 8 * s.V), parts.take(Op::converts ? M * most_of(rows_wide, s.Up) : 0)},
            parts.take(s.p.memory != none ? R * s.Hp : 0)};
  }

  void worker(int64_t index) {
    for (int64_t g = index; g < all.count; g += s.p.threads) {
      Parts<T> parts{memory + index * worker_size};
      run({all, g, s.p.T}, scratch(parts, all.groups[g].rows));
    }
    streamed();
  }

  void run(const Places& places, Scratch c) {
    const CfcProblem& p = s.p;
    const int64_t Hp = s.Hp, stride = s.width_lstm, R = places.group.rows, *rows = places.rows;
    for (int64_t i = 0; i < R; ++i) {
      T* h = c.rows[0] + i * stride + p.D;
      zero(h + Hp - s.V, s.V);
      copy(h, s.in(p.h0) + rows[i] * p.H, p.H);
      if (p.memory != none) {
        zero(c.m + i * Hp, Hp);
        copy(c.m + i * Hp, s.in(p.m0) + rows[i] * p.H, p.H);
      }
    }
    int64_t n = R;
    const int64_t steps = R ? places.length(0) : 0;
    for (int64_t t = 0; t <= steps; ++t) {
      T *here = c.rows[t % 2], *next = c.rows[(t + 1) % 2], *first = here;
      while (n > 0 && places.length(n - 1) <= t) {
        --n;
        copy(s.out(p.hn) + rows[n] * p.H, here + n * stride + p.D, p.H);
        if (p.memory != none) copy(s.out(p.mn) + rows[n] * p.H, c.m + n * Hp, p.H);
      }
      if (n == 0) break;
      for (int64_t i = 0; i < n; ++i) copy(here + i * stride, s.x(rows[i], t), p.D);
      if (p.memory != none) {
        remember(n, places, t, here, c.cell, c.m, c.bench);
        first = c.cell;
      }
      if (s.passes == 2)
        for (int64_t k = 0; k < n * s.width0; ++k) first[n * s.width0 + k] = -first[k];
      const T* below = first;
      int64_t lda = s.width0;
      for (int64_t l = 0; l < p.layers; ++l) {
        T* z = c.z[l % 2];
        dense(l, n, places, t, {below, lda}, z, c.bench);
        below = z;
        lda = s.Up;
      }
      combine(n, places, t, {below, lda}, first, next + p.D, c.bench);
    }
  }

  // The LSTM: a (n, [x ; h]) to the cell's input, [x ; o] or [o ; h], and the memory m.
  void remember(int64_t n, const Places& places, int64_t t, const T* a, T* to, T* m, Bench<T> bench) {
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
    product<Op>(w.lstm, n, ByRow<T>{a, s.width_lstm}, bench, [&](const Block& block, const T* C) {
      const int64_t plane = n * block.width * V;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t sample = places.sample(i, t);
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
  void dense(int64_t l, int64_t n, const Places& places, int64_t t, ByRow<T> below, T* z, Bench<T> bench) const {
    with_activation(s.p.activation,
                    [&](auto kind) { dense_as<Activation(kind.is)>(l, n, places, t, below, z, bench); });
  }

  template <Activation act>
  void dense_as(int64_t l, int64_t n, const Places& places, int64_t t, ByRow<T> below, T* z, Bench<T> bench) const {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Up = s.Up, M = n * s.passes, steps = p.T;
    const T* const b = w.biases[l];
    const T* const masks[2] = {s.in(p.mask[l]), s.in(p.mask[p.layers + l])};
    T* const kept = p.save ? s.out(p.z[l]) : nullptr;
    T* const kept_input = p.save && slope_needs_input(act) ? s.out(p.pre[l]) : nullptr;
    product<Op>(w.layer[l], M, below, bench, [&](const Block& block, const T* C) {
      const int64_t width = block.width * V;
      for (int64_t k = 0; k < block.panels; ++k) {
        const int64_t first = block.unit + k * width;
        const T* c = C + k * M * width;
        for (int64_t i = 0; i < M; ++i) {
          const int64_t pass = i >= n, at = i - pass * n, sample = pass * N + places.sample(at, t);
          const T* const mask = masks[pass] ? masks[pass] + (places.rows[at] * steps + t) * Up : nullptr;
          for (int64_t u = first; u < first + width; u += V, c += V) {
            const Vec<T> pre = load<T>(c) + load<T>(b + u);
            Vec<T> out = activate<act, T>(pre);
            if (mask) out = out * load<T>(mask + u);
            store<T>(z + i * Up + u, out);
            if (kept) store<T>(kept + sample * Up + u, out);
            if (kept_input) store<T>(kept_input + sample * Up + u, pre);
          }
        }
      }
    });
  }

  // The heads, and the new state computed from them.
  void combine(int64_t n, const Places& places, int64_t t, ByRow<T> below, const T* first, T* next, Bench<T> bench) const {
    with_kind(s.p, [&](auto kind, auto heads, auto act) {
      combine_as<kind.is, heads.is, Activation(act.is)>(n, places, t, below, first, next, bench);
    });
  }

  template <int64_t kind, int64_t heads, Activation act>
  void combine_as(int64_t n, const Places& places, int64_t t, ByRow<T> below, const T* first, T* next, Bench<T> bench) const {
    // Local copies of everything that the loop needs, as any store could change members.
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Hp = s.Hp, H = p.H, M = n * s.passes, stride = s.width_lstm, width0 = s.width0, D0 = s.D0;
    const int64_t y_row = p.T * H;
    const T *b = w.biases[p.layers], *A = w.A, *rate = w.rate, *B = w.B;
    T* const y = s.out(p.y) + t * H;
    const Gates<T> gates(s, places, t);
    const bool save = p.save, with_a = s.saved == 4, far = past_caches, state_amplitude = p.state_amplitude;
    const bool far_y = far && H % V == 0 && reinterpret_cast<uintptr_t>(y) % LT_BYTES == 0;
    auto keep = [=](T* to, Vec<T> v) { far ? stream<T>(to, v) : store<T>(to, v); };
    product<Op>(w.heads, M, below, bench, [&](const Block& block, const T* C) {
      const int64_t width = block.width, plane = M * width * V;
      for (int64_t k = 0; k < (heads == 1 ? block.panels : 1); ++k) {
        const int64_t first_unit = block.unit + k * width * V, across = gates.width(first_unit);
        for (int64_t i = 0; i < n; ++i) {
          const int64_t row = places.rows[i];
          const T dt = s.dt(row, t);
          T* const saved = save ? gates.at(i, first_unit) : nullptr;
          T *const out = y + row * y_row + first_unit, *const state = next + i * stride + first_unit;
          const T* c = C + k * plane + i * width * V;
          for (int64_t v = 0; v < width * V; v += V, c += V) {
            const int64_t u = first_unit + v;
            T* const g = save ? saved + v : nullptr;
            Vec<T> now;
            if constexpr (kind == cf_s) {
              const Vec<T> f = load<T>(c) + load<T>(b + u);
              const Vec<T> e = vexp<T>(-dt * (load<T>(rate + u) + absolute<T>(f)));
              now = load<T>(A + u) - load<T>(A + u) * e * f;
              if (save) {
                keep(g, f);
                keep(g + across, e);
              }
            } else if constexpr (kind == cf_s_paper) {
              const Vec<T> f = vsigmoid<T>(load<T>(c) + load<T>(b + u));
              const Vec<T> negated = vsigmoid<T>(load<T>(c + n * width * V) + load<T>(b + u));
              const Vec<T> e = vexp<T>(-dt * (load<T>(rate + u) + f));
              Vec<T> amplitude = load<T>(B + u);
              if (state_amplitude) amplitude = load_first<T>(first + i * width0 + D0 + u, Hp - u) - load<T>(A + u);
              now = amplitude * e * negated + load<T>(A + u);
              if (save) {
                keep(g, f);
                keep(g + across, negated);
                keep(g + 2 * across, e);
              }
            } else {
              const Vec<T> g1 = activate<act, T>(load<T>(c) + load<T>(b + u));
              const Vec<T> g2 = activate<act, T>(load<T>(c + plane) + load<T>(b + Hp + u));
              const Vec<T> a = load<T>(c + 2 * plane) + load<T>(b + 2 * Hp + u);
              Vec<T> q = -a * dt;
              if (heads == 4) q = a * dt + (load<T>(c + 3 * plane) + load<T>(b + 3 * Hp + u));
              const Vec<T> gate = vsigmoid<T>(q);
              now = kind == gated ? (1 - gate) * g1 + gate * g2 : g1 + gate * g2;
              if (save) {
                keep(g, g1);
                keep(g + across, g2);
                keep(g + 2 * across, gate);
                if (with_a) keep(g + 3 * across, a);
              }
            }
            store<T>(state + v, now);
            far_y ? stream<T>(out + v, now) : store_first<T>(out + v, now, H - u);
          }
        }
      }
    });
  }
};

}  // namespace
}  // namespace LT_TARGET
