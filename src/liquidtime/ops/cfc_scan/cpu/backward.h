// The backward run: each group of rows goes through its steps from the last to the first on one thread, and accumulates
// the gradients of weights over some samples at a time, while these are still in the second-level cache (outer.h).
#pragma once

#include "../../native/outer.h"
#include "activations.h"
#include "layout.h"

namespace LT_TARGET {
namespace {

template <class Op> struct BackwardRun {
  using T = typename Op::Number;
  static constexpr int64_t least_samples = 64;  // added at once, so that sums are rarely read and written

  Sizes<T> s;
  const Rows& all;
  int64_t N;
  Packed<T> layer[max_layers], heads, lstm;
  T *A, *rate, *B;
  bool whole0, whole_lstm;  // whether the gradient of all of [x ; h] is needed, or only that of h
  T* memory = nullptr;      // (workers, worker_size)
  int64_t worker_size = 0;

  BackwardRun(const CfcProblem& p, const Rows& rows) : s(p), all(rows), N(rows.samples) {
    whole_lstm = p.need_dx;
    whole0 = p.need_dx || p.memory == input;
  }

  int64_t matrices() const { return s.p.layers + (s.p.memory != none ? 2 : 1); }

  void lay_out(Parts<T>& parts) {
    const CfcProblem& p = s.p;
    auto place = [&](Packed<T>& W, int64_t units, int64_t K) {
      W.heads = 1, W.units = units, W.K = K, W.data = parts.take(W.size());
    };
    const int64_t bottom = whole0 ? s.F0 : p.H;
    for (int64_t l = 0; l < p.layers; ++l) place(layer[l], l ? p.U : bottom, s.Up);
    place(heads, p.layers ? p.U : bottom, p.heads * s.Hp);
    if (p.memory != none) place(lstm, whole_lstm ? p.D + p.H : p.H, 4 * s.Hp);
    for (T** vector : {&A, &rate, &B}) *vector = parts.take(s.Hp);
  }

  void fill() {
    const CfcProblem& p = s.p;
    const int64_t H = p.H, U = p.U, Hp = s.Hp, skip = whole0 ? 0 : s.D0;
    for (int64_t l = 0; l < p.layers; ++l) {
      const T* W = s.in(p.weight[l]);
      const int64_t F = l ? U : s.F0, from = l ? 0 : skip;
      layer[l].pack([=](int64_t, int64_t k) { return Column<T>{k < U ? W + k * F + from : nullptr, 1}; });
    }
    auto by_head = [=](const T* W, int64_t width) {
      return [=](int64_t, int64_t k) {
        return Column<T>{k % Hp < H ? W + (k / Hp * H + k % Hp) * width : nullptr, 1};
      };
    };
    heads.pack(by_head(s.in(p.weight[p.layers]) + (p.layers ? 0 : skip), s.F));
    if (p.memory != none) lstm.pack(by_head(s.in(p.weight[p.layers + 1]) + (whole_lstm ? 0 : p.D), p.D + H));
    for (int64_t l = 0; l < p.layers; ++l) layer[l].template convert<Op>();
    heads.template convert<Op>();
    if (p.memory != none) lstm.template convert<Op>();
    const void* given[3] = {p.A, p.rate, p.B_};
    T* vectors[3] = {A, rate, B};
    for (int k = 0; k < 3; ++k)
      for (int64_t j = 0; j < Hp; ++j) vectors[k][j] = given[k] && j < H ? s.in(given[k])[j] : T(0);
  }

  // Working memory of one thread. The sums come first, so that their positions do not depend on the number of rows.
  struct Worker {
    Outer<T> of[max_layers + 2];  // gradients of the weights of the layers, the heads and the memory
    T *sum_A, *sum_rate, *sum_B;  // gradients of the vectors
    T *dh, *dm, *direct, *g0, *g1;
    Bench<T> bench;
    int64_t samples = 0;  // samples that have not been added yet
  };

  Worker worker_on(Parts<T>& parts, int64_t R) const {
    const CfcProblem& p = s.p;
    const int64_t L = p.layers, all = R * s.passes, capacity = all > least_samples ? all : least_samples;
    Worker w{};
    for (int64_t m = 0; m < matrices(); ++m) {
      w.of[m].vectors = (m < L ? s.Up : (m == L ? p.heads : 4) * s.Hp) / s.V;
      w.of[m].width = m > L ? p.D + p.H : m ? p.U : s.F0;
      w.of[m].capacity = capacity;
      w.of[m].sums = parts.take(w.of[m].sums_size());
    }
    for (T** vector : {&w.sum_A, &w.sum_rate, &w.sum_B}) *vector = parts.take(s.Hp);
    for (int64_t m = 0; m < matrices(); ++m) {
      w.of[m].upper = parts.take(w.of[m].upper_size());
      w.of[m].lower = parts.take(w.of[m].lower_size());
    }
    w.dh = parts.take(R * s.Hp);
    w.direct = parts.take(R * s.Hp);
    w.g0 = parts.take(all * padded<T>(whole0 ? s.F0 : p.H));
    w.bench.block = parts.take(all * 8 * s.V);
    w.bench.operand = parts.take(Op::converts ? all * most_of(s.Up, (p.memory != none ? 4 : p.heads) * s.Hp) : 0);
    w.dm = parts.take(p.memory != none ? R * s.Hp : 0);
    w.g1 = parts.take(p.memory != none ? R * padded<T>(p.D + p.H) : 0);
    return w;
  }

  void worker(int64_t index) {
    T* own = memory + index * worker_size;
    Parts<T> parts{own};
    const Worker first = worker_on(parts, 0);
    zero(own, first.of[0].upper - own);
    for (int64_t g = index; g < all.count; g += s.p.threads) {
      Parts<T> again{own};
      run({all, g, s.p.T}, worker_on(again, all.groups[g].rows));
    }
  }

  // Add the sums of the workers in order and write them to the gradients.
  void finish() const {
    const CfcProblem& p = s.p;
    for (int64_t m = 0; m < matrices(); ++m) {
      const bool of_layer = m < p.layers;
      const int64_t units = of_layer ? p.U : p.H, up = of_layer ? s.Up : s.Hp;
      const int64_t count = of_layer ? 1 : m == p.layers ? p.heads : 4;
      T *weight = s.out(p.dweight[m]), *bias = s.out(p.dbias[m]);
      for (int64_t k = 0; k < p.threads; ++k) {
        Parts<T> parts{memory + k * worker_size};
        const Worker w = worker_on(parts, 0);
        const Outer<T>& sums = w.of[m];
        const int64_t F = sums.width;
        for (int64_t head = 0; head < count; ++head)
          for (int64_t j0 = 0; j0 < units; j0 += s.V) {
            const int64_t end = units - j0 < s.V ? units - j0 : s.V;
            const T* from = sums.sums + sums.place(head * up + j0, 0);
            const int64_t across = sums.place(head * up + j0, 1) - sums.place(head * up + j0, 0);
            for (int64_t j = 0; j < end; ++j) {
              T* to = weight + (head * units + j0 + j) * F;
              T* to_bias = bias + head * units + j0 + j;
              if (k == 0) {
                for (int64_t f = 0; f < F; ++f) to[f] = from[f * across + j];
                *to_bias = from[F * across + j];
              } else {
                for (int64_t f = 0; f < F; ++f) to[f] += from[f * across + j];
                *to_bias += from[F * across + j];
              }
            }
          }
      }
    }
    for (int64_t k = 0; k < p.threads; ++k) {
      Parts<T> parts{memory + k * worker_size};
      const Worker w = worker_on(parts, 0);
      void* const to[3] = {p.dA, p.drate, p.dB};
      const T* const from[3] = {w.sum_A, w.sum_rate, w.sum_B};
      for (int v = 0; v < 3; ++v)
        for (int64_t j = 0; to[v] && j < p.H; ++j) s.out(to[v])[j] = from[v][j] + (k ? s.out(to[v])[j] : T(0));
    }
  }

  void add_waiting(Worker& w) const {
    for (int64_t m = 0; m < matrices(); ++m)
      if (const int64_t count = m > s.p.layers ? w.samples / s.passes : w.samples) w.of[m].template add<Op>(count);
    w.samples = 0;
  }

  void run(const Places& places, Worker w) {
    const CfcProblem& p = s.p;
    const int64_t Hp = s.Hp, L = p.layers, R = places.group.rows, *rows = places.rows;
    const int64_t stride0 = padded<T>(whole0 ? s.F0 : p.H), stride1 = padded<T>(whole_lstm ? p.D + p.H : p.H);
    const bool simple = p.memory == none && s.passes == 1 && !whole0;  // the gradient of the state needs no more work
    zero(w.dh, R * Hp);
    zero(w.direct, R * Hp);
    if (p.memory != none) zero(w.dm, R * Hp);
    int64_t n = 0;
    const int64_t longest = R ? places.length(0) : 0;
    for (int64_t t = longest - 1; t >= 0; --t) {
      for (; n < R && places.length(n) > t; ++n) {
        if (p.dhn) copy(w.dh + n * Hp, s.in(p.dhn) + rows[n] * p.H, p.H);
        if (p.memory != none && p.dmn) copy(w.dm + n * Hp, s.in(p.dmn) + rows[n] * p.H, p.H);
      }
      if (w.samples + n * s.passes > w.of[0].capacity) add_waiting(w);
      const int64_t at = w.samples;  // for the passes; the memory has one and stores its samples from at / passes on
      combine(n, places, t, w);
      const Packed<T>* W = &heads;
      for (int64_t l = L - 1; l >= 0; --l) {
        dense(*W, l, n, places, t, w);
        W = &layer[l];
      }
      into(*W, n * s.passes, w.of[0].rows(at), simple ? w.dh : w.g0, stride0, w.bench);
      inputs(n, places, t, w);
      w.samples += n * s.passes;
      if (simple) continue;
      if (s.passes == 2)
        for (int64_t k = 0; k < n * stride0; ++k) w.g0[k] -= w.g0[n * stride0 + k];
      const int64_t h_at = whole0 ? s.D0 : 0;
      if (p.memory == none) {
        for (int64_t i = 0; i < n; ++i) {
          const T* g = w.g0 + i * stride0;
          if (p.need_dx) copy(s.out(p.dx) + (rows[i] * p.T + t) * p.D, g, p.D);
          for (int64_t j = 0; j < p.H; ++j) w.dh[i * Hp + j] = g[h_at + j] + w.direct[i * Hp + j];
        }
        continue;
      }
      const bool as_state = p.memory == hidden;
      const int64_t o_at = as_state ? h_at : 0;
      if (as_state)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < p.H; ++j) w.g0[i * stride0 + o_at + j] += w.direct[i * Hp + j];
      remember(n, places, t, w, at / s.passes, stride0, o_at);
      const int64_t from_lstm = whole_lstm ? p.D : 0;
      into(lstm, n, w.of[L + 1].rows(at / s.passes), w.g1, stride1, w.bench);
      for (int64_t i = 0; i < n; ++i) {
        const T *g0 = w.g0 + i * stride0, *g1 = w.g1 + i * stride1;
        T* dh = w.dh + i * Hp;
        if (p.need_dx) {
          T* dx = s.out(p.dx) + (rows[i] * p.T + t) * p.D;
          for (int64_t j = 0; j < p.D; ++j) dx[j] = as_state ? g1[j] + g0[j] : g1[j];
        }
        for (int64_t j = 0; j < p.H; ++j)
          dh[j] = as_state ? g1[from_lstm + j] : g1[from_lstm + j] + g0[h_at + j] + w.direct[i * Hp + j];
      }
    }
    add_waiting(w);
    auto give = [&](void* to, const T* found, const void* unchanged) {
      for (int64_t i = 0; to && i < R; ++i) {
        T* out = s.out(to) + rows[i] * p.H;
        if (i < n)
          copy(out, found + i * Hp, p.H);
        else if (unchanged)
          copy(out, s.in(unchanged) + rows[i] * p.H, p.H);
        else
          zero(out, p.H);
      }
    };
    give(p.dh0, w.dh, p.dhn);
    if (p.memory != none) give(p.dm0, w.dm, p.dmn);
  }

  // g (count, stride) = above·W.
  void into(const Packed<T>& W, int64_t count, ByPlane<T> above, T* g, int64_t stride, Bench<T> bench) const {
    const int64_t V = s.V;
    product<Op>(W, count, above, bench, [&](const Block& block, const T* C) {
      for (int64_t k = 0; k < block.panels; ++k)
        for (int64_t i = 0; i < count; ++i)
          for (int64_t v = 0; v < block.width; ++v)
            store<T>(g + i * stride + block.unit + (k * block.width + v) * V,
                     load<T>(C + ((k * count + i) * block.width + v) * V));
    });
  }

  // The inputs of the layers and the memory, next to the gradients of their outputs.
  void inputs(int64_t n, const Places& places, int64_t t, Worker& w) const {
    const CfcProblem& p = s.p;
    const int64_t L = p.layers;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t b = places.rows[i], sample = places.sample(i, t), at = w.samples + i;
      const T *x = s.x(b, t), *h = s.before(b, t);
      if (i + 2 < n)
        for (const T *soon = s.before(places.rows[i + 2], t), *end = soon + p.H; soon < end; soon += 64 / sizeof(T))
          prefetch(soon);
      const T* o = p.memory == none ? nullptr : s.out(p.lstm_o) + sample * s.Hp;
      w.of[0].put(at, 0, p.memory == input ? o : x, s.D0);
      w.of[0].put(at, s.D0, p.memory == hidden ? o : h, p.H);
      w.of[0].end(at);
      for (int64_t l = 0; l < L; ++l)
        for (int64_t pass = 0; pass < s.passes; ++pass) {
          w.of[l + 1].put(at + pass * n, 0, s.out(p.z[l]) + (pass * N + sample) * s.Up, p.U);
          w.of[l + 1].end(at + pass * n);
        }
      if (s.passes == 2) w.of[0].negate(at, at + n);
      if (p.memory != none) {
        const int64_t single = w.samples / s.passes + i;
        w.of[L + 1].put(single, 0, x, p.D);
        w.of[L + 1].put(single, p.D, h, p.H);
        w.of[L + 1].end(single);
      }
    }
  }

  // From the gradient of the new state to that of the heads.
  void combine(int64_t n, const Places& places, int64_t t, Worker& w) const {
    with_kind(s.p, [&](auto kind, auto heads, auto act) {
      combine_as<kind.is, heads.is, Activation(act.is)>(n, places, t, w);
    });
  }

  template <int64_t kind, int64_t heads, Activation act>
  void combine_as(int64_t n, const Places& places, int64_t t, Worker& w) const {
    // Local copies of everything that the loop needs, as any store could change members.
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Hp = s.Hp, H = p.H, values = s.saved, ahead = 8;
    const int64_t plane = w.of[p.layers].plane(), head_planes = Hp / V * plane;
    const Gates<T> gates(s, places, t);
    T *const upper = w.of[p.layers].upper + w.samples * V, *const direct = w.direct;
    T *const sum_A = w.sum_A, *const sum_rate = w.sum_rate, *const sum_B = w.sum_B;
    const T *const A = this->A, *const rate = this->rate, *const B = this->B, *const dh = w.dh;
    const T* const dy = p.dy ? s.in(p.dy) + t * p.dy_step : nullptr;
    const int64_t dy_row = p.dy_row, dy_step = p.dy_step;
    const bool need_ddt = p.need_ddt, state_amplitude = p.state_amplitude;
    for (int64_t first = 0; first < Hp; first += 2 * V) {
      const int64_t across = gates.width(first);
      const int64_t later = first + 2 * V < Hp ? first + 2 * V : -dy_step;  // the part of dy that is needed next
      for (int64_t i = 0; i < n; ++i) {
        const int64_t b = places.rows[i];
        const T dt = s.dt(b, t);
        const T* g = gates.at(i, first);
        for (int64_t k = 0; k < values; ++k) prefetch(g + (ahead * values + k) * across);
        const T* const dy_b = dy ? dy + b * dy_row : nullptr;
        if (dy) prefetch(dy_b + later);
        Vec<T> over_dt{};
        for (int64_t u = first; u < first + across; u += V, g += V) {
          T* const to = upper + u / V * plane + i * V;
          Vec<T> d = load<T>(dh + i * Hp + u);
          if (dy) d += load_first<T>(dy_b + u, H - u);
          if constexpr (kind == cf_s) {
            const Vec<T> f = load<T>(g), e = load<T>(g + across), a = load<T>(A + u);
            const Vec<T> fall = d * a * e, held = load<T>(rate + u) + absolute<T>(f);
            store<T>(sum_A + u, load<T>(sum_A + u) + d * (1 - e * f));
            store<T>(sum_rate + u, load<T>(sum_rate + u) + fall * f * dt);
            over_dt += fall * f * held;
            store<T>(to, -fall * (1 - dt * absolute<T>(f)));
          } else if constexpr (kind == cf_s_paper) {
            const Vec<T> f = load<T>(g), negated = load<T>(g + across), e = load<T>(g + 2 * across);
            const Vec<T> a = load<T>(A + u);
            Vec<T> amplitude = load<T>(B + u);
            if (state_amplitude) {
              const T* h = p.memory == hidden ? s.out(p.lstm_o) + places.sample(i, t) * Hp : s.before(b, t);
              amplitude = load_first<T>(h + u, H - u) - a;
            }
            const Vec<T> d_amplitude = d * e * negated, d_exponent = d * amplitude * negated * e;
            Vec<T> d_A = d;
            if (state_amplitude) {
              d_A -= d_amplitude;
              store<T>(direct + i * Hp + u, d_amplitude);
            } else {
              store<T>(sum_B + u, load<T>(sum_B + u) + d_amplitude);
            }
            store<T>(sum_A + u, load<T>(sum_A + u) + d_A);
            store<T>(sum_rate + u, load<T>(sum_rate + u) - d_exponent * dt);
            over_dt -= d_exponent * (load<T>(rate + u) + f);
            store<T>(to, -d_exponent * dt * f * (1 - f));
            store<T>(to + n * V, d * amplitude * e * negated * (1 - negated));
          } else {
            const Vec<T> g1 = load<T>(g), g2 = load<T>(g + across), gate = load<T>(g + 2 * across);
            const Vec<T> d1 = kind == gated ? d * (1 - gate) : d;
            const Vec<T> open = kind == gated ? g2 - g1 : g2;
            const Vec<T> dq = d * open * gate * (1 - gate);
            store<T>(to, d1 * slope<act, T>(g1, g1));
            store<T>(to + head_planes, d * gate * slope<act, T>(g2, g2));
            store<T>(to + 2 * head_planes, heads == 4 ? dq * dt : -dq * dt);
            if (heads == 4) store<T>(to + 3 * head_planes, dq);
            if (need_ddt) {
              const Vec<T> a = load<T>(g + 3 * across);
              over_dt += heads == 4 ? dq * a : -dq * a;
            }
          }
        }
        if (need_ddt) {
          T* ddt = s.out(p.ddt) + b * p.T + t;
          *ddt = sum<T>(over_dt) + (first ? *ddt : T(0));
        }
      }
    }
  }

  // Backward through the product above a layer and the activation of the layer.
  void dense(const Packed<T>& W, int64_t l, int64_t n, const Places& places, int64_t t, Worker& w) const {
    with_activation(s.p.activation, [&](auto kind) { dense_as<Activation(kind.is)>(W, l, n, places, t, w); });
  }

  template <Activation act>
  void dense_as(const Packed<T>& W, int64_t l, int64_t n, const Places& places, int64_t t, Worker& w) const {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Up = s.Up, count = n * s.passes, plane = w.of[l].plane(), steps = p.T;
    T* const upper = w.of[l].upper + w.samples * V;
    const T *const kept = s.in(p.z[l]), *const kept_input = s.in(p.pre[l]);
    const T* const masks[2] = {s.in(p.mask[l]), s.in(p.mask[p.layers + l])};
    product<Op>(W, count, w.of[l + 1].rows(w.samples), w.bench, [&](const Block& block, const T* C) {
      const int64_t width = block.width * V;
      for (int64_t k = 0; k < block.panels; ++k)
        for (int64_t i = 0; i < count; ++i) {
          const int64_t pass = i >= n, at = i - pass * n, sample = pass * N + places.sample(at, t);
          const T* const mask = masks[pass] ? masks[pass] + (places.rows[at] * steps + t) * Up : nullptr;
          for (int64_t v = 0; v < width; v += V) {
            const int64_t u = block.unit + k * width + v;
            Vec<T> d = load<T>(C + (k * count + i) * width + v);
            Vec<T> z = load<T>(kept + sample * Up + u);
            if (mask) {
              const Vec<T> scale = load<T>(mask + u);
              d = d * scale;
              z = pick<T>(scale > 0, z / scale, Vec<T>{});
            }
            const Vec<T> pre = slope_needs_input(act) ? load<T>(kept_input + sample * Up + u) : z;
            store<T>(upper + u / V * plane + i * V, d * slope<act, T>(z, pre));
          }
        }
    });
  }

  // From the gradient of the LSTM's output, in g0 from column `o_at` on, and of its memory, to that of its gates.
  void remember(int64_t n, const Places& places, int64_t t, Worker& w, int64_t at, int64_t stride0, int64_t o_at) const {
    const CfcProblem& p = s.p;
    const int64_t V = s.V, Hp = s.Hp;
    const Outer<T>& of = w.of[p.layers + 1];
    for (int64_t i = 0; i < n; ++i) {
      const int64_t b = places.rows[i], sample = places.sample(i, t);
      const T* g = s.in(p.lstm_gates) + sample * 4 * Hp;
      const T* m = s.in(p.lstm_m) + sample * Hp;
      const T* m_before = t ? s.in(p.lstm_m) + places.sample(i, t - 1) * Hp : s.in(p.m0) + b * p.H;
      for (int64_t u = 0; u < Hp; u += V) {
        auto give = [&](int64_t gate, Vec<T> d) {
          store<T>(of.upper + (gate * Hp + u) / V * of.plane() + (at + i) * V, d);
        };
        const Vec<T> candidate = load<T>(g + u), add = load<T>(g + Hp + u), keep = load<T>(g + 2 * Hp + u);
        const Vec<T> open = load<T>(g + 3 * Hp + u), out = vtanh<T>(load<T>(m + u));
        const Vec<T> before = load_first<T>(m_before + u, p.H - u);
        const Vec<T> d = load_first<T>(w.g0 + i * stride0 + o_at + u, p.H - u);
        const Vec<T> dm = load<T>(w.dm + i * Hp + u) + d * open * (1 - out * out);
        give(0, dm * add * (1 - candidate * candidate));
        give(1, dm * candidate * add * (1 - add));
        give(2, dm * before * keep * (1 - keep));
        give(3, d * out * open * (1 - open));
        store<T>(w.dm + i * Hp + u, dm * keep);
      }
    }
  }
};

}  // namespace
}  // namespace LT_TARGET
