// The scan of liquid time-constant neurons, forward and backward, for one build target. See README.md for the equations.
//
// A strip of rows, one to a lane, goes through all of its steps on one thread, so that a synapse is paid once for all
// of them. The backward run keeps only the potentials and opens the synapses again.
#include <cstdlib>
#include <initializer_list>

#include "../../native/aligned.h"
#include "../../native/parallel.h"
#include "../../native/simd.h"
#include "problem.h"

#define LT_MEMBER inline __attribute__((always_inline))

namespace LT_TARGET {
namespace {

using namespace liquidtime;

constexpr int64_t max_groups = 16;  // of strips that share one set of sums, whatever the number of threads

// The steps of a solver: at each of its stages the synapses are read at one point, from which the next one follows.
constexpr int64_t max_stages = 4;
struct Stages {
  double weight[max_stages], reach[max_stages];  // of RK4 and Euler: in the step's mean slope, and to the next point
};
constexpr Stages stages_of[] = {{{}, {}},                                               // semi_implicit
                                {{1.}, {}},                                             // euler
                                {{1. / 6, 1. / 3, 1. / 3, 1. / 6}, {0.5, 0.5, 1., 0.}}, // rk4
                                {{}, {1.}},                                             // hold
                                {{}, {0.5, 1.}}};                                       // midpoint

template <class T> struct LtcRun {
  const LtcProblem& p;
  const int64_t* order;
  const Stages& stages;
  const int64_t stage_count, V = lanes<T>, strips, groups;
  T* sums = nullptr;  // (groups, sums_size) of vectors
  int64_t sums_size;
  bool backward, failed = false;

  LtcRun(const LtcProblem& problem, const int64_t* rows, bool back)
      : p(problem), order(rows), stages(stages_of[p.solver]), stage_count(stage_counts[p.solver]),
        strips((p.B + V - 1) / V), groups(strips < max_groups ? strips : max_groups),
        sums_size((4 * (p.sensory.count + p.recurrent.count) + 3 * p.H) * V), backward(back) {}

  static const T* in(const void* q) { return static_cast<const T*>(q); }
  static T* out(void* q) { return static_cast<T*>(q); }
  int64_t length(int64_t b) const { return p.lengths ? p.lengths[b] : p.T; }
  T* states(int64_t strip, int64_t t, int64_t k) const {
    return out(p.states) + ((strip * p.T + t) * p.unfolds + k) * p.H * V;
  }

  void group(int64_t index) {
    const int64_t H = p.H, D = p.D, S = p.sensory.count, R = p.recurrent.count;
    const int64_t rows = backward ? 2 * D + 6 * H + S + stage_count * (4 * H + R) : D + 6 * H;
    T* memory = static_cast<T*>(aligned_memory(64, (rows * V * sizeof(T) + 63) / 64 * 64 + 64));
    if (!memory) {
      __atomic_store_n(&failed, true, __ATOMIC_RELAXED);
      return;
    }
    for (int64_t strip = strips * index / groups; strip < strips * (index + 1) / groups; ++strip) {
      if (backward)
        back(strip, memory, sums + index * sums_size);
      else
        ahead(strip, memory);
    }
    free_aligned(memory);
  }

  struct Strip {
    int64_t rows[lanes<T>], lengths[lanes<T>], count, longest;
  };

  Strip strip_of(int64_t index) const {
    Strip s;
    s.count = p.B - index * V < V ? p.B - index * V : V;
    s.longest = 0;
    for (int64_t i = 0; i < V; ++i) {
      s.rows[i] = i < s.count ? order[index * V + i] : 0;
      s.lengths[i] = i < s.count ? length(s.rows[i]) : 0;
      if (s.lengths[i] > s.longest) s.longest = s.lengths[i];
    }
    return s;
  }

  // The sensors (D, lanes) and the length of an unfold at a step; rows that have ended see 0 and stand still.
  Vec<T> arrive(const Strip& s, int64_t t, T* sensors) const {
    Vec<T> h{};
    for (int64_t d = 0; d < p.D * V; ++d) sensors[d] = 0;
    for (int64_t i = 0; i < V; ++i) {
      if (t >= s.lengths[i]) continue;
      const T* x = in(p.x) + s.rows[i] * p.x_row + t * p.x_step;
      for (int64_t d = 0; d < p.D; ++d) sensors[d * V + i] = x[d];
      h[i] = in(p.dt)[s.rows[i] * p.dt_row + t * p.dt_step] / static_cast<T>(p.unfolds);
    }
    return h;
  }

  // Total conductance and current that synapses bring to neuron j, added to g and c; keeps how far each is open.
  LT_INLINE void collect(const Synapses& y, int64_t j, const T* from, Vec<T>& g, Vec<T>& c, T* opened) {
    constexpr int64_t V = lanes<T>;
    const T *w = in(y.w), *gamma = in(y.gamma), *mu = in(y.mu), *E = in(y.E);
    for (int64_t k = y.first[j]; k < y.first[j + 1]; ++k) {
      const Vec<T> open = vsigmoid<T>(gamma[k] * (load<T>(from + y.pre[k] * V) - mu[k]));
      if (opened) store<T>(opened + k * V, open);
      const Vec<T> flow = open * w[k];
      g += flow;
      c += flow * E[k];
    }
  }

  // The next point of neuron j, or the end of the step after the last stage, from what its synapses bring at `from`.
  LT_MEMBER void advance(int64_t stage, int64_t j, Vec<T> h, const T* start, const T* from, Vec<T> g, Vec<T> c, T* to,
                         T* slope) {
    constexpr int64_t V = lanes<T>;
    const T cm = in(p.capacitance)[j], reach = static_cast<T>(stages.reach[stage]);
    const Vec<T> v = load<T>(start + j * V);
    Vec<T> after;
    if (p.solver == semi_implicit) {
      const Vec<T> r = h * (1 / cm);  // an interval of 0 then leaves v bit by bit
      after = (v + r * c) / (1 + r * g);
    } else if (p.solver == hold || p.solver == midpoint) {
      after = v - (c / g - v) * vexpm1(-(reach * h / cm) * g);
    } else {
      const Vec<T> k = (c - g * load<T>(from + j * V)) / cm;
      const Vec<T> mean = (stage ? load<T>(slope + j * V) : Vec<T>{}) + k * static_cast<T>(stages.weight[stage]);
      store<T>(slope + j * V, mean);
      after = v + h * (stage + 1 < stage_count ? k * reach : mean);
    }
    store<T>(to + j * V, after);
  }

  void ahead(int64_t index, T* memory) {
    const int64_t H = p.H, D = p.D;
    T *sensors = memory, *v = sensors + D * V, *at = v + H * V, *next = at + H * V, *base_g = next + H * V;
    T *base_c = base_g + H * V, *slope = base_c + H * V;
    const Strip s = strip_of(index);
    for (int64_t i = 0; i < V; ++i)
      for (int64_t j = 0; j < H; ++j) v[j * V + i] = i < s.count ? in(p.v0)[s.rows[i] * H + j] : T(0);
    leave(s, 0, v);
    for (int64_t t = 0; t < s.longest; ++t) {
      const Vec<T> h = arrive(s, t, sensors);
      rest(sensors, base_g, base_c, nullptr);
      for (int64_t k = 0; k < p.unfolds; ++k) {
        if (p.save) std::memcpy(states(index, t, k), v, H * V * sizeof(T));
        for (int64_t stage = 0; stage < stage_count; ++stage) {
          const T* from = stage ? at : v;
          for (int64_t j = 0; j < H; ++j) {
            Vec<T> g = load<T>(base_g + j * V), c = load<T>(base_c + j * V);
            collect(p.recurrent, j, from, g, c, nullptr);
            advance(stage, j, h, v, from, g, c, next, slope);
          }
          T* swap = at;
          at = next;
          next = swap;
        }
        T* swap = v;
        v = at;
        at = swap;
      }
      for (int64_t i = 0; i < V; ++i)
        if (t < s.lengths[i]) {
          T* y = out(p.y) + (s.rows[i] * p.T + t) * H;
          for (int64_t j = 0; j < H; ++j) y[j] = v[j * V + i];
        }
      leave(s, t + 1, v);
    }
  }

  // What the leak and the sensors bring to every neuron, which is the same for all unfolds of a step.
  void rest(const T* sensors, T* base_g, T* base_c, T* opened) {
    for (int64_t j = 0; j < p.H; ++j) {
      Vec<T> g = splat<T>(in(p.leak)[j]), c = splat<T>(in(p.leak_current)[j]);
      collect(p.sensory, j, sensors, g, c, opened);
      store<T>(base_g + j * V, g);
      store<T>(base_c + j * V, c);
    }
  }

  void leave(const Strip& s, int64_t t, const T* v) {
    for (int64_t i = 0; i < s.count; ++i)
      if (s.lengths[i] == t)
        for (int64_t j = 0; j < p.H; ++j) out(p.vn)[s.rows[i] * p.H + j] = v[j * V + i];
  }

  // exp(x) - 1 for x <= 0, 0 at 0.
  LT_INLINE Vec<T> vexpm1(Vec<T> x) {
    Vec<T> s, q;
    exp_parts<T>(clamp<T>(x, Lane<T>::exp_limit), s, q);
    return (s - 1) + s * q;
  }

  LT_INLINE void add(T* to, Vec<T> v) { store<T>(to, load<T>(to) + v); }

  // Through the synapses onto neuron j, from the gradients of its conductance and current.
  LT_INLINE void distribute(const Synapses& y, int64_t j, const T* from, Vec<T> dg, Vec<T> dc, const T* opened,
                            T* dfrom, T* sum) {
    constexpr int64_t V = lanes<T>;
    const T *w = in(y.w), *gamma = in(y.gamma), *mu = in(y.mu), *E = in(y.E);
    for (int64_t k = y.first[j]; k < y.first[j + 1]; ++k) {
      const Vec<T> open = load<T>(opened + k * V), gap = load<T>(from + y.pre[k] * V) - mu[k];
      const Vec<T> dflow = dg + dc * E[k];
      const Vec<T> dq = dflow * w[k] * open * (1 - open), pull = dq * gamma[k];
      T* mine = sum + 4 * k * V;
      add(mine, dflow * open);
      add(mine + V, dq * gap);
      add(mine + 2 * V, -pull);
      add(mine + 3 * V, dc * open * w[k]);
      if (dfrom) add(dfrom + y.pre[k] * V, pull);
    }
  }

  // Back through `advance`: from the gradients of the step's end and of the stage's next point to those of the
  // conductance and current, left in g and c, of the stage's own point and of the step's start. Returns that of h.
  LT_MEMBER Vec<T> withdraw(int64_t stage, int64_t j, Vec<T> h, const T* start, const T* from, T* g, T* c, const T* dend,
                            const T* dnext, T* dfrom, T* dstart, T* sum_capacitance) {
    constexpr int64_t V = lanes<T>;
    const bool last = stage + 1 == stage_count;
    const T cm = in(p.capacitance)[j], reach = static_cast<T>(stages.reach[stage]);
    const Vec<T> v = load<T>(start + j * V), of_g = load<T>(g + j * V), of_c = load<T>(c + j * V);
    const Vec<T> end = load<T>(dend + j * V), into = last ? end : load<T>(dnext + j * V);
    Vec<T> dg, dc, dcm, dh;
    if (p.solver == semi_implicit) {
      const Vec<T> r = h * (1 / cm), below = 1 + r * of_g, after = (v + r * of_c) / below;
      const Vec<T> up = into / below, down = -up * after, dr = up * of_c + down * of_g;
      dg = down * r, dc = up * r, dcm = -dr * r / cm, dh = dr / cm;
      add(dstart + j * V, up);
    } else if (p.solver == hold || p.solver == midpoint) {
      const Vec<T> time = reach * h / cm, rest = of_c / of_g, moved = vexpm1(-time * of_g);
      const Vec<T> drest = -into * moved / of_g, pull = into * (v - rest) * (1 + moved), dtime = -of_g * pull;
      dg = -drest * rest - time * pull, dc = drest, dcm = -dtime * time / cm, dh = dtime * (reach / cm);
      add(dstart + j * V, into * (1 + moved));
    } else {
      const Vec<T> u = load<T>(from + j * V), k = (of_c - of_g * u) / cm;
      Vec<T> share = end * static_cast<T>(stages.weight[stage]);
      if (!last) share += into * reach;
      const Vec<T> dk = h * share / cm;
      dg = -dk * u, dc = dk, dcm = -dk * k, dh = share * k;
      add(dstart + j * V, into);
      add(dfrom + j * V, -dk * of_g);
    }
    add(sum_capacitance + j * V, dcm);
    store<T>(g + j * V, dg);
    store<T>(c + j * V, dc);
    return dh;
  }

  void back(int64_t index, T* memory, T* sum) {
    const int64_t H = p.H, D = p.D, S = p.sensory.count, R = p.recurrent.count, last = stage_count - 1;
    T *sensors = memory, *dsensors = sensors + D * V, *base_g = dsensors + D * V, *base_c = base_g + H * V;
    T *dbase_g = base_c + H * V, *dbase_c = dbase_g + H * V, *dv = dbase_c + H * V, *dnext = dv + H * V;
    T *opened_s = dnext + H * V, *stage_room = opened_s + S * V;
    T *g[max_stages], *c[max_stages], *at[max_stages], *dat[max_stages], *opened_r[max_stages];
    for (int64_t i = 0; i <= last; ++i, stage_room += (4 * H + R) * V) {
      g[i] = stage_room, c[i] = g[i] + H * V, at[i] = c[i] + H * V, dat[i] = at[i] + H * V, opened_r[i] = dat[i] + H * V;
    }
    T *sum_r = sum + 4 * S * V, *sum_leak = sum_r + 4 * R * V, *sum_current = sum_leak + H * V;
    T* sum_capacitance = sum_current + H * V;
    const Strip s = strip_of(index);
    std::memset(dv, 0, H * V * sizeof(T));
    auto enter = [&](int64_t t) {
      for (int64_t i = 0; p.dvn && i < s.count; ++i)
        if (s.lengths[i] == t)
          for (int64_t j = 0; j < H; ++j) dv[j * V + i] += in(p.dvn)[s.rows[i] * H + j];
    };
    for (int64_t t = s.longest - 1; t >= 0; --t) {
      enter(t + 1);
      const Vec<T> h = arrive(s, t, sensors);
      rest(sensors, base_g, base_c, opened_s);
      for (int64_t i = 0; p.dy && i < V; ++i)
        if (t < s.lengths[i]) {
          const T* dy = in(p.dy) + s.rows[i] * p.dy_row + t * p.dy_step;
          for (int64_t j = 0; j < H; ++j) dv[j * V + i] += dy[j];
        }
      std::memset(dbase_g, 0, H * V * sizeof(T));
      std::memset(dbase_c, 0, H * V * sizeof(T));
      Vec<T> dh{};
      for (int64_t k = p.unfolds - 1; k >= 0; --k) {
        const T* v = states(index, t, k);
        for (int64_t i = 0; i <= last; ++i) {
          const T* from = i ? at[i] : v;
          for (int64_t j = 0; j < H; ++j) {
            Vec<T> of_g = load<T>(base_g + j * V), of_c = load<T>(base_c + j * V);
            collect(p.recurrent, j, from, of_g, of_c, opened_r[i]);
            store<T>(g[i] + j * V, of_g);
            store<T>(c[i] + j * V, of_c);
            if (i < last) advance(i, j, h, v, from, of_g, of_c, at[i + 1], dnext);  // dnext has no other use yet
          }
        }
        std::memset(dnext, 0, H * V * sizeof(T));
        for (int64_t i = last; i >= 0; --i) {
          const T* from = i ? at[i] : v;
          T* dfrom = i ? dat[i] : dnext;
          if (i) std::memset(dfrom, 0, H * V * sizeof(T));
          for (int64_t j = 0; j < H; ++j) {
            dh += withdraw(i, j, h, v, from, g[i], c[i], dv, i < last ? dat[i + 1] : nullptr, dfrom, dnext,
                           sum_capacitance);
            const Vec<T> dg = load<T>(g[i] + j * V), dc = load<T>(c[i] + j * V);
            add(dbase_g + j * V, dg);
            add(dbase_c + j * V, dc);
            distribute(p.recurrent, j, from, dg, dc, opened_r[i], dfrom, sum_r);
          }
        }
        T* swap = dv;
        dv = dnext;
        dnext = swap;
      }
      std::memset(dsensors, 0, D * V * sizeof(T));
      for (int64_t j = 0; j < H; ++j) {
        const Vec<T> dg = load<T>(dbase_g + j * V), dc = load<T>(dbase_c + j * V);
        add(sum_leak + j * V, dg);
        add(sum_current + j * V, dc);
        distribute(p.sensory, j, sensors, dg, dc, opened_s, p.need_dx ? dsensors : nullptr, sum);
      }
      for (int64_t i = 0; i < V; ++i) {
        if (t >= s.lengths[i]) continue;
        if (p.need_ddt) out(p.ddt)[s.rows[i] * p.T + t] = dh[i] / static_cast<T>(p.unfolds);
        if (p.need_dx)
          for (int64_t d = 0; d < D; ++d) out(p.dx)[(s.rows[i] * p.T + t) * D + d] = dsensors[d * V + i];
      }
    }
    enter(0);
    for (int64_t i = 0; i < s.count; ++i)
      for (int64_t j = 0; j < H; ++j) out(p.dv0)[s.rows[i] * H + j] = dv[j * V + i];
  }

  // Add up lanes and groups, in their order, into the gradients of the parameters.
  void finish() {
    auto total = [&](int64_t at) {
      T result = 0;
      for (int64_t g = 0; g < groups; ++g) result += LT_TARGET::sum<T>(load<T>(sums + g * sums_size + at * V));
      return result;
    };
    int64_t at = 0;
    for (const Synapses* y : {&p.sensory, &p.recurrent})
      for (int64_t k = 0; k < y->count; ++k) {
        out(y->dw)[k] = total(at++);
        out(y->dgamma)[k] = total(at++);
        out(y->dmu)[k] = total(at++);
        out(y->dE)[k] = total(at++);
      }
    for (void* to : {p.dleak, p.dleak_current, p.dcapacitance})
      for (int64_t j = 0; j < p.H; ++j) out(to)[j] = total(at++);
  }
};

template <class T> void one_group(void* run, int64_t index) { static_cast<LtcRun<T>*>(run)->group(index); }

template <class T> int forward(const LtcProblem* p, const int64_t* order) {
  LtcRun<T> run(*p, order, false);
  run_pieces(p->threads, run.groups, one_group<T>, &run);
  return run.failed;
}

template <class T> int backward(const LtcProblem* p, const int64_t* order) {
  LtcRun<T> run(*p, order, true);
  const size_t bytes = (run.groups * run.sums_size * sizeof(T) + 63) / 64 * 64 + 64;
  run.sums = static_cast<T*>(aligned_memory(64, bytes));
  if (!run.sums) return 1;
  std::memset(run.sums, 0, bytes);
  run_pieces(p->threads, run.groups, one_group<T>, &run);
  run.finish();
  free_aligned(run.sums);
  return run.failed;
}

}  // namespace

extern const liquidtime::LtcTarget ltc_target;
const liquidtime::LtcTarget ltc_target = {{forward<float>, forward<double>}, {backward<float>, backward<double>}};

}  // namespace LT_TARGET
