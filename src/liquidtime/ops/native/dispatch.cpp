// The C boundary: chooses the build target once, divides the batch into groups of rows and calls the kernel.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "../cfc_scan/problem.h"
#include "../ltc_scan/problem.h"
#include "bf16.h"

#define LT_EXPORT extern "C" __attribute__((visibility("default")))

namespace baseline {
extern const liquidtime::CfcTarget cfc_target;
extern const liquidtime::LtcTarget ltc_target;
}
#ifdef LT_X86
namespace avx2 {
extern const liquidtime::CfcTarget cfc_target;
extern const liquidtime::LtcTarget ltc_target;
}
namespace avx512 {
extern const liquidtime::CfcTarget cfc_target;
extern const liquidtime::LtcTarget ltc_target;
}
#endif

namespace {

using namespace liquidtime;

struct Target {
  const char* name;
  const CfcTarget* cfc;
  const LtcTarget* ltc;
};

bool can_run(const char* name) {
#ifdef LT_X86
  __builtin_cpu_init();
  if (!std::strcmp(name, "avx512")) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
  if (!std::strcmp(name, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return !std::strcmp(name, "baseline");
}

const Target targets[] = {
#ifdef LT_X86
    {"avx512", &avx512::cfc_target, &avx512::ltc_target},
    {"avx2", &avx2::cfc_target, &avx2::ltc_target},
#endif
    {"baseline", &baseline::cfc_target, &baseline::ltc_target},
};

const Target* best() {
  for (const Target& target : targets)
    if (can_run(target.name)) return &target;
  return nullptr;
}

std::atomic<const Target*> current{best()};

// The target that computes a problem, and the place of its functions.
const CfcTarget& target_of(const CfcProblem& p) {
  const CfcTarget& chosen = *current.load()->cfc;
  return p.bf16 ? bf16_target(chosen) : chosen;
}
int64_t place_of(const CfcProblem& p, int64_t wide) { return p.bf16 ? 2 : wide; }

constexpr int64_t group_rows = 64;        // enough to reuse a panel of weights, few enough for the second cache
constexpr double thread_work = 2.0e5;     // multiply-adds below which a second thread costs more than it brings

// How a batch is divided into groups of equal work, longest rows first within each, and where its samples lie.
struct Division {
  std::vector<int64_t> order, starts, rank;
  std::vector<Group> groups;
  Rows rows{};
  int64_t threads;

  Division(int64_t B, int64_t T, const int64_t* lengths, int64_t threads_wanted, double work_per_sample)
      : order(B), threads(threads_wanted) {
    std::iota(order.begin(), order.end(), int64_t(0));
    if (lengths) {
      std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
      rank.resize(B);
      for (int64_t k = 0; k < B; ++k) rank[order[k]] = k;
      starts.assign(T + 1, 0);
      for (int64_t t = 0, active = B; t < T; ++t) {
        while (active > 0 && lengths[order[active - 1]] <= t) --active;
        starts[t + 1] = starts[t] + active;
      }
    }
    const double samples = lengths ? static_cast<double>(starts[T]) : static_cast<double>(B) * static_cast<double>(T);
    const double work = samples * work_per_sample;
    threads = std::max<int64_t>(1, std::min<int64_t>(threads, static_cast<int64_t>(work / thread_work)));
    int64_t count = (B + group_rows - 1) / group_rows;
    count = std::min<int64_t>(B, (count + threads - 1) / threads * threads);  // every thread as many groups
    if (lengths && count > 1) {
      std::vector<std::vector<int64_t>> dealt(count);
      for (int64_t k = 0; k < B; ++k) {
        const int64_t turn = k % (2 * count);
        dealt[turn < count ? turn : 2 * count - 1 - turn].push_back(order[k]);
      }
      int64_t at = 0;
      for (const auto& part : dealt) {
        groups.push_back({static_cast<int64_t>(part.size()), at});
        at = std::copy(part.begin(), part.end(), order.begin() + at) - order.begin();
      }
    } else {
      for (int64_t k = 0; k < count; ++k) groups.push_back({B * (k + 1) / count - B * k / count, B * k / count});
    }
    rows = {groups.data(), static_cast<int64_t>(groups.size()), order.data(), lengths,
            lengths ? starts.data() : nullptr, lengths ? rank.data() : nullptr};
  }
};

double work_of(const CfcProblem& p) {
  const int64_t D = p.memory == input ? p.H : p.D;
  double work = p.layers ? (D + p.H) * p.U + (p.layers - 1) * p.U * p.U + p.heads * p.H * p.U : p.heads * p.H * (D + p.H);
  if (p.kind == cf_s_paper) work *= 2;
  if (p.memory != none) work += 4 * p.H * (p.D + p.H);
  return work;
}

constexpr int bad_interval = 2;

template <class T> bool is_bad(T value) { return !(value >= 0 && value < T(HUGE_VAL)); }

// Whether an interval inside a series is negative, NaN or infinite.
template <class T> bool has_bad_interval(const CfcProblem& p) {
  for (int64_t b = 0; b < p.B; ++b) {
    const T* dt = static_cast<const T*>(p.dt) + b * p.dt_row;
    const int64_t steps = p.lengths ? p.lengths[b] : p.T;
    bool bad = false;
    for (int64_t t = 0; t < steps; ++t) bad |= is_bad(dt[t * p.dt_step]);
    if (bad) return true;
  }
  return false;
}

int run(const CfcProblem* p, int (*kernel)(const CfcProblem*, const Rows*)) try {
  if (p->B == 1 && !p->lengths) {  // the way of one sample at a time, without a heap
    const int64_t order[1] = {0};
    const Group group{1, 0};
    const Rows rows{&group, 1, order, nullptr, nullptr, nullptr};
    CfcProblem local = *p;
    local.threads = 1;
    return kernel(&local, &rows);
  }
  Division division(p->B, p->T, p->lengths, p->threads, work_of(*p));
  CfcProblem local = *p;
  local.threads = std::max<int64_t>(1, std::min<int64_t>(division.threads, division.rows.count));
  return kernel(&local, &division.rows);
} catch (...) {
  return 1;
}

double work_of(const LtcProblem& p) {
  const int64_t readings = p.sensory.count + p.unfolds * stage_counts[p.solver] * p.recurrent.count;
  return 16 * static_cast<double>(readings);  // a synapse costs about as much as 16 multiply-adds
}

int run(const LtcProblem* p, int (*kernel)(const LtcProblem*, const int64_t*)) try {
  Division division(p->B, p->T, p->lengths, p->threads, work_of(*p));
  std::stable_sort(division.order.begin(), division.order.end(), [p](int64_t a, int64_t b) {
    return p->lengths && p->lengths[a] > p->lengths[b];
  });
  LtcProblem local = *p;
  local.threads = division.threads;
  return kernel(&local, division.order.data());
} catch (...) {
  return 1;
}

}  // namespace

LT_EXPORT const char* lt_target() { return current.load()->name; }

// Choose a build target by name; 0 if this machine can run it, else 1 and nothing changes.
LT_EXPORT int lt_select(const char* name) {
  for (const Target& target : targets)
    if (!std::strcmp(target.name, name) && can_run(name)) {
      current = &target;
      return 0;
    }
  return 1;
}

LT_EXPORT int64_t lt_vector_bytes() { return current.load()->cfc->bytes; }
LT_EXPORT int64_t lt_cfc_problem_size() { return sizeof(CfcProblem); }

LT_EXPORT int64_t lt_cfc_packed_size(const CfcProblem* p, int64_t wide) {
  return target_of(*p).packed_size[place_of(*p, wide)](p);
}
LT_EXPORT void lt_cfc_pack(const CfcProblem* p, int64_t wide) { target_of(*p).pack[place_of(*p, wide)](p); }
// Returns 0; 1 where there is no memory; 2, with nothing done, where an interval is negative, NaN or infinite.
LT_EXPORT int lt_cfc_forward(const CfcProblem* p, int64_t wide) {
  if (p->check && (wide ? has_bad_interval<double>(*p) : has_bad_interval<float>(*p))) return bad_interval;
  return run(p, target_of(*p).forward[place_of(*p, wide)]);
}
LT_EXPORT int lt_cfc_backward(const CfcProblem* p, int64_t wide) {
  return run(p, target_of(*p).backward[place_of(*p, wide)]);
}

// 0 where bf16 operands are rounded numbers, 1 where there is an instruction for them, 2 where it is not to be trusted.
LT_EXPORT int64_t lt_bf16_unit() { return static_cast<int64_t>(bf16_unit(*current.load()->cfc)); }
// Products with bf16 operands by themselves (cfc_scan/products.h); 1 where there is no memory.
LT_EXPORT int lt_bf16_product(int64_t rows, int64_t K, int64_t units, const float* a, const float* w, float* c) {
  return bf16_target(*current.load()->cfc).product(rows, K, units, a, w, c);
}
LT_EXPORT int lt_bf16_outer(int64_t samples, int64_t units, int64_t width, const float* upper, const float* lower,
                            float* g) {
  return bf16_target(*current.load()->cfc).outer(samples, units, width, upper, lower, g);
}

// One step of every layer of a stack, with weights packed before: state (layers,B,H) to the next one, and the output.
// Returns 2, with nothing done, where an interval is negative, NaN or infinite.
LT_EXPORT int lt_cfc_step(const CfcStep* step) {
  const CfcStep s = *step;
  float narrow_dt = static_cast<float>(s.every_dt);
  if (!s.dt && is_bad(s.every_dt)) return bad_interval;
  for (int64_t b = 0; s.dt && b < s.B; ++b)
    if (is_bad<double>(s.wide ? static_cast<const double*>(s.dt)[b] : static_cast<const float*>(s.dt)[b]))
      return bad_interval;
  const char* from = static_cast<const char*>(s.x);
  for (int64_t k = 0; k < s.count; ++k) {
    CfcProblem p = *s.layers[k];
    const int64_t bytes = s.B * p.H * (s.wide ? 8 : 4);
    p.B = s.B, p.T = 1, p.save = 0, p.need_ddt = 0, p.threads = 1;
    p.x = from, p.x_row = p.D, p.x_step = 0;
    p.dt = s.dt ? s.dt : s.wide ? static_cast<const void*>(&s.every_dt) : &narrow_dt;
    p.dt_row = s.dt ? 1 : 0, p.dt_step = 0;
    p.h0 = static_cast<const char*>(s.h) + k * bytes, p.hn = static_cast<char*>(s.hn) + k * bytes;
    if (s.m) p.m0 = static_cast<const char*>(s.m) + k * bytes, p.mn = static_cast<char*>(s.mn) + k * bytes;
    p.y = s.y;
    if (const int failed = run(&p, target_of(p).forward[place_of(p, s.wide)])) return failed;
    from = static_cast<const char*>(p.hn);
  }
  return 0;
}

LT_EXPORT int64_t lt_ltc_problem_size() { return sizeof(LtcProblem); }
// What a sample costs, in multiply-adds: what the number of threads is chosen by.
LT_EXPORT double lt_ltc_work(const LtcProblem* p) { return work_of(*p); }
LT_EXPORT int lt_ltc_forward(const LtcProblem* p, int64_t wide) { return run(p, current.load()->ltc->forward[wide]); }
LT_EXPORT int lt_ltc_backward(const LtcProblem* p, int64_t wide) { return run(p, current.load()->ltc->backward[wide]); }
