// The scan of liquid time-constant neurons, forward and backward, for one build target. See README.md for the equations.
//
// A strip of rows, one row per lane, goes through all of its steps on one thread, up to four strips at once, so that
// the numbers of a synapse are loaded and its gradients stored once for all of them. The forward run stores the
// potentials and the inputs from synapses; the backward run evaluates each synapse once more and accumulates its
// gradients.
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "../../native/aligned.h"
#include "../../native/parallel.h"
#include "../../native/simd.h"
#include "problem.h"

namespace LT_TARGET {
namespace {

using namespace liquidtime;

constexpr int64_t max_groups = 16;   // groups of strips that share one set of sums, for any number of threads
constexpr int64_t most_abreast = 4;  // strips that a thread processes together

// The stages of a solver: at each stage the synapses are read at one point, from which the next point follows.
constexpr int64_t max_stages = 4;
struct Stages {
  double weight[max_stages], reach[max_stages];  // of RK4 and Euler: weight in the mean slope; way to the next point
};
constexpr Stages stages_of[] = {{{}, {}},                                               // semi_implicit
                                {{1.}, {}},                                             // euler
                                {{1. / 6, 1. / 3, 1. / 3, 1. / 6}, {0.5, 0.5, 1., 0.}}, // rk4
                                {{}, {1.}},                                             // hold
                                {{}, {0.5, 1.}}};                                       // midpoint

template <class T> struct LtcRun {
  static constexpr int64_t V = lanes<T>;
  const LtcProblem& p;
  const int64_t* order;
  const Stages& stages;
  const int64_t stage_count, strips, width, groups;  // `width` strips are processed at once
  const bool backward;
  T *constants = nullptr, *sums = nullptr;  // four numbers of each synapse; (groups, sums_size)
  int64_t sums_size;
  bool failed = false;

  LtcRun(const LtcProblem& problem, const int64_t* rows, bool back)
      : p(problem), order(rows), stages(stages_of[p.solver]), stage_count(stage_counts[p.solver]),
        strips((p.B + V - 1) / V), width(strips < 4 ? 1 : strips < 8 ? 2 : most_abreast),
        groups(strips < max_groups * width ? (strips + width - 1) / width : max_groups), backward(back),
        sums_size(4 * synapses() + 3 * p.H * V) {}

  static const T* in(const void* q) { return static_cast<const T*>(q); }
  static T* out(void* q) { return static_cast<T*>(q); }
  static T* memory_for(int64_t numbers) {
    return static_cast<T*>(aligned_memory(64, (numbers * sizeof(T) + 63) / 64 * 64 + 64));
  }
  int64_t synapses() const { return p.sensory.count + p.recurrent.count; }
  int64_t length(int64_t b) const { return p.lengths ? p.lengths[b] : p.T; }

  int run() {
    constants = memory_for(4 * synapses());
    if (backward) sums = memory_for(groups * sums_size);
    failed = !constants || (backward && !sums);
    if (!failed) {
      describe(p.sensory, constants);
      describe(p.recurrent, constants + 4 * p.sensory.count);
      if (backward) std::memset(sums, 0, groups * sums_size * sizeof(T));
      run_pieces(p.threads, groups, one_group, this);
      if (backward && !failed) finish();
    }
    free_aligned(constants);
    free_aligned(sums);
    return failed;
  }

  // The values that loops over synapses read, side by side: slope in powers of two, midpoint, and two products.
  void describe(const Synapses& y, T* to) const {
    const T *w = in(y.w), *gamma = in(y.gamma), *mu = in(y.mu), *E = in(y.E);
    for (int64_t k = 0; k < y.count; ++k, to += 4) {
      to[0] = gamma[k] * static_cast<T>(-1.4426950408889634074), to[1] = mu[k];
      to[2] = backward ? E[k] : w[k], to[3] = backward ? w[k] * gamma[k] : w[k] * E[k];
    }
  }

  static void one_group(void* run, int64_t index) { static_cast<LtcRun*>(run)->group(index); }

  void group(int64_t index) {
    const int64_t H = p.H, D = p.D, rows = backward ? 2 * D + 4 * H + stage_count * 2 * H : D + 6 * H;
    T* memory = memory_for(rows * width * V);
    if (!memory) {
      __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      return;
    }
    const int64_t end = strips * (index + 1) / groups;
    for (int64_t strip = strips * index / groups; strip < end; strip += width) {
      const Abreast a(*this, strip, end - strip < width ? end - strip : width);
      if (backward)
        back(a, memory, sums + index * sums_size);
      else
        ahead(a, memory);
    }
    free_aligned(memory);
  }

  struct Strip {
    int64_t rows[V], lengths[V], count = 0, longest = 0;
    int64_t saved;  // start of its saved data
  };

  // Strips that go through their steps together. Rows are sorted, so those that still run come first.
  struct Abreast {
    Strip strips[most_abreast];
    int64_t count, longest = 0;

    Abreast(const LtcRun& run, int64_t first, int64_t how_many) : count(how_many) {
      for (int64_t k = 0; k < count; ++k) {
        Strip& s = strips[k];
        const int64_t from = (first + k) * V;
        s.count = run.p.B - from < V ? run.p.B - from : V;
        s.saved = from * run.p.T * run.p.unfolds * (1 + 2 * run.stage_count) * run.p.H;
        for (int64_t i = 0; i < s.count; ++i) {
          s.rows[i] = run.order[from + i];
          s.lengths[i] = run.length(s.rows[i]);
          if (s.lengths[i] > s.longest) s.longest = s.lengths[i];
        }
        if (s.longest > longest) longest = s.longest;
      }
    }

    int64_t running(int64_t t) const {
      int64_t most = 0;
      for (int64_t k = 0; k < count; ++k)
        if (t < strips[k].longest) most = k + 1;
      return most;
    }
  };

  // Vector j of strip s in an array of the neurons or sensory neurons of all strips that are processed at once.
  T* room(T* rooms, int64_t j, int64_t s) const { return rooms + (j * width + s) * V; }
  const T* room(const T* rooms, int64_t j, int64_t s) const { return rooms + (j * width + s) * V; }

  // The saved data of a strip for an unfold, (H, rows of the strip) each: the potentials before it, then the
  // conductance and current from synapses at each stage.
  T* saved(const Strip& s, int64_t t, int64_t k, int64_t part, int64_t j) const {
    const int64_t parts = 1 + 2 * stage_count;
    return out(p.states) + s.saved + (((t * p.unfolds + k) * parts + part) * p.H + j) * s.count;
  }
  // Lanes without a row read 1, so that no conductance of 0 is a divisor.
  LT_INLINE Vec<T> load_rows(const T* from, int64_t count) {
    if (count == V) return load<T>(from);
    Vec<T> v = splat<T>(1);
    std::memcpy(&v, from, count * sizeof(T));
    return v;
  }

  // The sensory inputs of a strip and the length of an unfold at a step; rows that have ended read 0 and do not change.
  Vec<T> arrive(const Strip& s, int64_t place, int64_t t, T* sensors) const {
    Vec<T> h{};
    for (int64_t d = 0; d < p.D; ++d) store<T>(room(sensors, d, place), Vec<T>{});
    for (int64_t i = 0; i < s.count; ++i) {
      if (t >= s.lengths[i]) continue;
      const T* x = in(p.x) + s.rows[i] * p.x_row + t * p.x_step;
      for (int64_t d = 0; d < p.D; ++d) room(sensors, d, place)[i] = x[d];
      h[i] = in(p.dt)[s.rows[i] * p.dt_row + t * p.dt_step] / static_cast<T>(p.unfolds);
    }
    return h;
  }

  // Total conductance and current from synapses onto neuron j of N strips, added to g and c.
  template <int N>
  LT_MEMBER void collect(const Synapses& y, const T* constant, int64_t j, const T* from, Vec<T>* g, Vec<T>* c) const {
    const int64_t stride = width * V;
    for (int64_t k = y.first[j]; k < y.first[j + 1]; ++k) {
      const T *own = constant + 4 * k, *v = from + y.pre[k] * stride;
      for (int s = 0; s < N; ++s) {
        const Vec<T> open = vopening<T>((load<T>(v + s * V) - own[1]) * own[0]);
        g[s] += open * own[2];
        c[s] += open * own[3];
      }
    }
  }

  // The next point of a neuron, or the end of the step after the last stage, from its synaptic inputs at `from`.
  LT_MEMBER void advance(int64_t stage, int64_t j, Vec<T> h, const T* start, const T* from, Vec<T> g, Vec<T> c, T* to,
                         T* slope) const {
    const T cm = in(p.capacitance)[j], reach = static_cast<T>(stages.reach[stage]);
    const Vec<T> v = load<T>(start);
    Vec<T> after;
    if (p.solver == semi_implicit) {
      const Vec<T> r = h * (1 / cm);  // with an interval of 0, v then stays the same bit by bit
      after = (v + r * c) / (1 + r * g);
    } else if (p.solver == hold || p.solver == midpoint) {
      after = v - (c / g - v) * vexpm1(-(reach * h / cm) * g);
    } else {
      const Vec<T> k = (c - g * load<T>(from)) / cm;
      const Vec<T> mean = (stage ? load<T>(slope) : Vec<T>{}) + k * static_cast<T>(stages.weight[stage]);
      store<T>(slope, mean);
      after = v + h * (stage + 1 < stage_count ? k * reach : mean);
    }
    store<T>(to, after);
  }

  // The arrays of the forward run.
  struct Ahead {
    T *sensors, *v, *at, *next, *base_g, *base_c, *slope;
  };

  void ahead(const Abreast& a, T* memory) {
    const int64_t H = p.H, size = H * width * V;
    Ahead r;
    r.sensors = memory, r.v = r.sensors + p.D * width * V, r.at = r.v + size, r.next = r.at + size;
    r.base_g = r.next + size, r.base_c = r.base_g + size, r.slope = r.base_c + size;
    std::memset(memory, 0, (p.D + 6 * H) * width * V * sizeof(T));
    for (int64_t s = 0; s < a.count; ++s)
      for (int64_t i = 0; i < a.strips[s].count; ++i)
        for (int64_t j = 0; j < H; ++j) room(r.v, j, s)[i] = in(p.v0)[a.strips[s].rows[i] * H + j];
    leave(a, 0, r.v);
    for (int64_t t = 0; t < a.longest; ++t) {
      const int64_t running = a.running(t);
      if (running > 2)
        step_ahead<4>(a, t, r);
      else if (running > 1)
        step_ahead<2>(a, t, r);
      else
        step_ahead<1>(a, t, r);
      for (int64_t s = 0; s < running; ++s)
        for (int64_t i = 0; i < a.strips[s].count; ++i)
          if (t < a.strips[s].lengths[i]) {
            T* y = out(p.y) + (a.strips[s].rows[i] * p.T + t) * H;
            for (int64_t j = 0; j < H; ++j) y[j] = room(r.v, j, s)[i];
          }
      leave(a, t + 1, r.v);
    }
  }

  // One sample of the first N strips.
  template <int N> __attribute__((noinline)) void step_ahead(const Abreast& a, int64_t t, Ahead& r) {
    Vec<T> h[N], g[N], c[N];
    const T* recurrent = constants + 4 * p.sensory.count;
    for (int s = 0; s < N; ++s) h[s] = arrive(a.strips[s], s, t, r.sensors);
    for (int64_t j = 0; j < p.H; ++j) {  // the inputs from leak and sensory neurons are the same for all unfolds
      for (int s = 0; s < N; ++s) g[s] = splat<T>(in(p.leak)[j]), c[s] = splat<T>(in(p.leak_current)[j]);
      collect<N>(p.sensory, constants, j, r.sensors, g, c);
      for (int s = 0; s < N; ++s) store<T>(room(r.base_g, j, s), g[s]), store<T>(room(r.base_c, j, s), c[s]);
    }
    for (int64_t k = 0; k < p.unfolds; ++k) {
      for (int64_t stage = 0; stage < stage_count; ++stage) {
        const T* from = stage ? r.at : r.v;
        for (int64_t j = 0; j < p.H; ++j) {
          for (int s = 0; s < N; ++s) g[s] = load<T>(room(r.base_g, j, s)), c[s] = load<T>(room(r.base_c, j, s));
          collect<N>(p.recurrent, recurrent, j, from, g, c);
          for (int s = 0; s < N; ++s) {
            if (p.save) keep(a.strips[s], t, k, stage, j, load<T>(room(r.v, j, s)), g[s], c[s]);
            advance(stage, j, h[s], room(r.v, j, s), room(from, j, s), g[s], c[s], room(r.next, j, s),
                    room(r.slope, j, s));
          }
        }
        std::swap(r.at, r.next);
      }
      std::swap(r.v, r.at);
    }
  }

  void keep(const Strip& s, int64_t t, int64_t k, int64_t stage, int64_t j, Vec<T> v, Vec<T> g, Vec<T> c) const {
    if (!stage) store_first<T>(saved(s, t, k, 0, j), v, s.count);
    store_first<T>(saved(s, t, k, 1 + 2 * stage, j), g, s.count);
    store_first<T>(saved(s, t, k, 2 + 2 * stage, j), c, s.count);
  }

  void leave(const Abreast& a, int64_t t, const T* v) const {
    for (int64_t s = 0; s < a.count; ++s)
      for (int64_t i = 0; i < a.strips[s].count; ++i)
        if (a.strips[s].lengths[i] == t)
          for (int64_t j = 0; j < p.H; ++j) out(p.vn)[a.strips[s].rows[i] * p.H + j] = room(v, j, s)[i];
  }

  // exp(x) - 1 for x <= 0, 0 at 0.
  LT_INLINE Vec<T> vexpm1(Vec<T> x) {
    Vec<T> s, q;
    exp_parts<T>(clamp<T>(x, Lane<T>::exp_limit), s, q);
    return (s - 1) + s * q;
  }

  LT_INLINE void add(T* to, Vec<T> v) { store<T>(to, load<T>(to) + v); }

  // Backward through the synapses onto neuron j of N strips, from the gradients of its conductance and current. For
  // each synapse four sums are stored, from which `finish` computes its gradients.
  template <int N>
  LT_MEMBER void distribute(const Synapses& y, const T* constant, int64_t j, const T* from, const Vec<T>* dg,
                            const Vec<T>* dc, T* dfrom, T* sum) const {
    const int64_t stride = width * V;
    for (int64_t k = y.first[j]; k < y.first[j + 1]; ++k) {
      const T *own = constant + 4 * k, *v = from + y.pre[k] * stride;
      T* dv = dfrom + y.pre[k] * stride;
      Vec<T> of_w{}, of_E{}, of_mu{}, of_gamma{};
      for (int s = 0; s < N; ++s) {
        const Vec<T> gap = load<T>(v + s * V) - own[1], open = vopening<T>(gap * own[0]);
        const Vec<T> dflow = dg[s] + dc[s] * own[2], dgap = dflow * (open - open * open);
        of_w += dflow * open;
        of_E += dc[s] * open;
        of_mu += dgap;
        of_gamma += dgap * gap;
        if (dfrom) add(dv + s * V, dgap * own[3]);
      }
      add_sums<T>(sum + 4 * k, of_w, of_E, of_mu, of_gamma);
    }
  }

  // Backward through `advance`: from the gradients of the end of the step and of the next point of the stage to those
  // of the conductance and current (in g and c), of the stage's own point and of the start of the step. Returns that of
  // h.
  LT_MEMBER Vec<T> withdraw(int64_t stage, int64_t j, Vec<T> h, const T* start, const T* from, Vec<T>& g, Vec<T>& c,
                            const T* dend, const T* dnext, T* dfrom, T* dstart, T* sum_capacitance) const {
    const bool last = stage + 1 == stage_count;
    const T cm = in(p.capacitance)[j], reach = static_cast<T>(stages.reach[stage]);
    const Vec<T> v = load<T>(start), of_g = g, of_c = c;
    const Vec<T> end = load<T>(dend), into = last ? end : load<T>(dnext);
    Vec<T> dcm, dh;
    if (p.solver == semi_implicit) {
      const Vec<T> r = h * (1 / cm), below = 1 + r * of_g, after = (v + r * of_c) / below;
      const Vec<T> up = into / below, down = -up * after, dr = up * of_c + down * of_g;
      g = down * r, c = up * r, dcm = -dr * r / cm, dh = dr / cm;
      add(dstart, up);
    } else if (p.solver == hold || p.solver == midpoint) {
      const Vec<T> time = reach * h / cm, rest = of_c / of_g, moved = vexpm1(-time * of_g);
      const Vec<T> drest = -into * moved / of_g, pull = into * (v - rest) * (1 + moved), dtime = -of_g * pull;
      g = -drest * rest - time * pull, c = drest, dcm = -dtime * time / cm, dh = dtime * (reach / cm);
      add(dstart, into * (1 + moved));
    } else {
      const Vec<T> u = load<T>(from), k = (of_c - of_g * u) / cm;
      Vec<T> share = end * static_cast<T>(stages.weight[stage]);
      if (!last) share += into * reach;
      const Vec<T> dk = h * share / cm;
      g = -dk * u, c = dk, dcm = -dk * k, dh = share * k;
      add(dstart, into);
      add(dfrom, -dk * of_g);
    }
    add(sum_capacitance + j * V, dcm);
    return dh;
  }

  // The arrays of the backward run, and the sums of a group.
  struct Back {
    T *sensors, *dsensors, *dbase_g, *dbase_c, *dv, *dnext, *at[max_stages], *dat[max_stages];
    T *sum_s, *sum_r, *sum_leak, *sum_current, *sum_capacitance;
  };

  void back(const Abreast& a, T* memory, T* sum) {
    const int64_t H = p.H, size = H * width * V;
    Back r;
    r.sensors = memory, r.dsensors = r.sensors + p.D * width * V, r.dbase_g = r.dsensors + p.D * width * V;
    r.dbase_c = r.dbase_g + size, r.dv = r.dbase_c + size, r.dnext = r.dv + size;
    for (int64_t i = 0; i < stage_count; ++i) r.at[i] = r.dnext + (1 + 2 * i) * size, r.dat[i] = r.at[i] + size;
    r.sum_s = sum, r.sum_r = sum + 4 * p.sensory.count, r.sum_leak = sum + 4 * synapses();
    r.sum_current = r.sum_leak + H * V, r.sum_capacitance = r.sum_current + H * V;
    std::memset(r.dv, 0, 2 * size * sizeof(T));
    for (int64_t t = a.longest - 1; t >= 0; --t) {
      enter(a, t + 1, r.dv);
      const int64_t running = a.running(t);
      for (int64_t s = 0; p.dy && s < running; ++s)
        for (int64_t i = 0; i < a.strips[s].count; ++i)
          if (t < a.strips[s].lengths[i]) {
            const T* dy = in(p.dy) + a.strips[s].rows[i] * p.dy_row + t * p.dy_step;
            for (int64_t j = 0; j < H; ++j) room(r.dv, j, s)[i] += dy[j];
          }
      if (running > 2)
        step_back<4>(a, t, r);
      else if (running > 1)
        step_back<2>(a, t, r);
      else
        step_back<1>(a, t, r);
    }
    enter(a, 0, r.dv);
    for (int64_t s = 0; s < a.count; ++s)
      for (int64_t i = 0; i < a.strips[s].count; ++i)
        for (int64_t j = 0; j < H; ++j) out(p.dv0)[a.strips[s].rows[i] * H + j] = room(r.dv, j, s)[i];
  }

  void enter(const Abreast& a, int64_t t, T* dv) const {
    for (int64_t s = 0; p.dvn && s < a.count; ++s)
      for (int64_t i = 0; i < a.strips[s].count; ++i)
        if (a.strips[s].lengths[i] == t)
          for (int64_t j = 0; j < p.H; ++j) room(dv, j, s)[i] += in(p.dvn)[a.strips[s].rows[i] * p.H + j];
  }

  // One sample of the first N strips, backward.
  template <int N> __attribute__((noinline)) void step_back(const Abreast& a, int64_t t, Back& r) {
    const int64_t H = p.H, D = p.D, size = H * width * V, last = stage_count - 1;
    const T* recurrent = constants + 4 * p.sensory.count;
    Vec<T> h[N], dh[N], dg[N], dc[N];
    for (int s = 0; s < N; ++s) h[s] = arrive(a.strips[s], s, t, r.sensors), dh[s] = Vec<T>{};
    std::memset(r.dbase_g, 0, 2 * size * sizeof(T));
    for (int64_t k = p.unfolds - 1; k >= 0; --k) {
      for (int64_t j = 0; j < H; ++j)
        for (int s = 0; s < N; ++s)
          store<T>(room(r.at[0], j, s), load_rows(saved(a.strips[s], t, k, 0, j), a.strips[s].count));
      for (int64_t i = 0; i < last; ++i)
        for (int64_t j = 0; j < H; ++j)
          for (int s = 0; s < N; ++s) {
            brought(a.strips[s], t, k, i, j, dg[s], dc[s]);
            advance(i, j, h[s], room(r.at[0], j, s), room(r.at[i], j, s), dg[s], dc[s], room(r.at[i + 1], j, s),
                    room(r.dnext, j, s));  // not used for anything else yet
          }
      std::memset(r.dnext, 0, size * sizeof(T));
      for (int64_t i = last; i >= 0; --i) {
        T* dfrom = i ? r.dat[i] : r.dnext;
        if (i) std::memset(dfrom, 0, size * sizeof(T));
        for (int64_t j = 0; j < H; ++j) {
          for (int s = 0; s < N; ++s) {
            brought(a.strips[s], t, k, i, j, dg[s], dc[s]);
            dh[s] += withdraw(i, j, h[s], room(r.at[0], j, s), room(r.at[i], j, s), dg[s], dc[s], room(r.dv, j, s),
                              i < last ? room(r.dat[i + 1], j, s) : nullptr, room(dfrom, j, s), room(r.dnext, j, s),
                              r.sum_capacitance);
            add(room(r.dbase_g, j, s), dg[s]);
            add(room(r.dbase_c, j, s), dc[s]);
          }
          distribute<N>(p.recurrent, recurrent, j, r.at[i], dg, dc, dfrom, r.sum_r);
        }
      }
      std::swap(r.dv, r.dnext);
    }
    std::memset(r.dsensors, 0, D * width * V * sizeof(T));
    for (int64_t j = 0; j < H; ++j) {
      for (int s = 0; s < N; ++s) {
        dg[s] = load<T>(room(r.dbase_g, j, s)), dc[s] = load<T>(room(r.dbase_c, j, s));
        add(r.sum_leak + j * V, dg[s]);
        add(r.sum_current + j * V, dc[s]);
      }
      distribute<N>(p.sensory, constants, j, r.sensors, dg, dc, p.need_dx ? r.dsensors : nullptr, r.sum_s);
    }
    for (int s = 0; s < N; ++s)
      for (int64_t i = 0; i < a.strips[s].count; ++i) {
        const int64_t row = a.strips[s].rows[i];
        if (t >= a.strips[s].lengths[i]) continue;
        if (p.need_ddt) out(p.ddt)[row * p.T + t] = dh[s][i] / static_cast<T>(p.unfolds);
        if (p.need_dx)
          for (int64_t d = 0; d < D; ++d) out(p.dx)[(row * p.T + t) * D + d] = room(r.dsensors, d, s)[i];
      }
  }

  // The inputs from synapses to a neuron of a strip at a stage, as stored by the forward run.
  LT_MEMBER void brought(const Strip& s, int64_t t, int64_t k, int64_t stage, int64_t j, Vec<T>& g, Vec<T>& c) const {
    g = load_rows(saved(s, t, k, 1 + 2 * stage, j), s.count);
    c = load_rows(saved(s, t, k, 2 + 2 * stage, j), s.count);
  }

  // Add groups and lanes, in order, to the gradients of the parameters.
  void finish() const {
    auto total = [&](int64_t at) {
      T result = 0;
      for (int64_t g = 0; g < groups; ++g) result += sums[g * sums_size + at];
      return result;
    };
    int64_t at = 0;
    for (const Synapses* y : {&p.sensory, &p.recurrent})
      for (int64_t k = 0; k < y->count; ++k) {
        const T w = in(y->w)[k];
        out(y->dw)[k] = total(at++);
        out(y->dE)[k] = total(at++) * w;
        out(y->dmu)[k] = total(at++) * -(w * in(y->gamma)[k]);
        out(y->dgamma)[k] = total(at++) * w;
      }
    for (void* to : {p.dleak, p.dleak_current, p.dcapacitance})
      for (int64_t j = 0; j < p.H; ++j, at += V) {
        T result = 0;
        for (int64_t g = 0; g < groups; ++g) result += LT_TARGET::sum<T>(load<T>(sums + g * sums_size + at));
        out(to)[j] = result;
      }
  }
};

template <class T> int forward(const LtcProblem* p, const int64_t* order) { return LtcRun<T>(*p, order, false).run(); }

template <class T> int backward(const LtcProblem* p, const int64_t* order) { return LtcRun<T>(*p, order, true).run(); }

}  // namespace

extern const liquidtime::LtcTarget ltc_target;
const liquidtime::LtcTarget ltc_target = {{forward<float>, forward<double>}, {backward<float>, backward<double>}};

}  // namespace LT_TARGET
