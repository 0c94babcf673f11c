// The C boundary: chooses the build target once, divides the batch into groups of rows and calls the kernel.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include "../cfc_scan/problem.h"

#define LT_EXPORT extern "C" __attribute__((visibility("default")))

namespace baseline {
extern const liquidtime::CfcTarget cfc_target;
}
#ifdef LT_X86
namespace avx2 {
extern const liquidtime::CfcTarget cfc_target;
}
namespace avx512 {
extern const liquidtime::CfcTarget cfc_target;
}
#endif

namespace {

using namespace liquidtime;

struct Target {
  const char* name;
  const CfcTarget* cfc;
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
    {"avx512", &avx512::cfc_target},
    {"avx2", &avx2::cfc_target},
#endif
    {"baseline", &baseline::cfc_target},
};

const Target* best() {
  for (const Target& target : targets)
    if (can_run(target.name)) return &target;
  return nullptr;
}

std::atomic<const Target*> current{best()};

constexpr int64_t group_rows = 64;        // enough to reuse a panel of weights, few enough for the second cache
constexpr double thread_work = 2.0e5;     // multiply-adds below which a second thread costs more than it brings

// The rows in the order in which the groups hold them, longest first within each, and the groups of equal work.
struct Division {
  std::vector<int64_t> order, offsets;
  std::vector<Group> groups;
  int64_t threads;

  Division(int64_t B, int64_t T, const int64_t* lengths, int64_t threads_wanted, double work_per_sample)
      : order(B), offsets(B + 1), threads(threads_wanted) {
    std::iota(order.begin(), order.end(), int64_t(0));
    for (int64_t b = 0; b < B; ++b) offsets[b + 1] = offsets[b] + (lengths ? lengths[b] : T);
    const double work = static_cast<double>(offsets[B]) * work_per_sample;
    threads = std::max<int64_t>(1, std::min<int64_t>(threads, static_cast<int64_t>(work / thread_work)));
    int64_t count = (B + group_rows - 1) / group_rows;
    count = std::min<int64_t>(B, (count + threads - 1) / threads * threads);  // every thread as many groups
    if (count <= 1) {
      if (lengths) sort_by_length(order.data(), B);
      if (B > 0) groups.push_back({B, 0});
      return;
    }
    if (lengths) {
      sort_by_length(order.data(), B);
      std::vector<std::vector<int64_t>> dealt(count);
      for (int64_t k = 0; k < B; ++k) {
        const int64_t turn = k % (2 * count);
        dealt[turn < count ? turn : 2 * count - 1 - turn].push_back(order[k]);
      }
      int64_t at = 0;
      for (const auto& rows : dealt) {
        groups.push_back({static_cast<int64_t>(rows.size()), at});
        at = std::copy(rows.begin(), rows.end(), order.begin() + at) - order.begin();
      }
    } else {
      for (int64_t k = 0; k < count; ++k) groups.push_back({B * (k + 1) / count - B * k / count, B * k / count});
    }
  }

  void sort_by_length(int64_t* first, int64_t count) {
    auto length = [this](int64_t b) { return offsets[b + 1] - offsets[b]; };
    std::stable_sort(first, first + count, [&](int64_t a, int64_t b) { return length(a) > length(b); });
  }
};

double work_of(const CfcProblem& p) {
  const int64_t D = p.memory == input ? p.H : p.D;
  double work = p.layers ? (D + p.H) * p.U + (p.layers - 1) * p.U * p.U + p.heads * p.H * p.U : p.heads * p.H * (D + p.H);
  if (p.kind == cf_s_paper) work *= 2;
  if (p.memory != none) work += 4 * p.H * (p.D + p.H);
  return work;
}

using Run = int (*)(const CfcProblem*, const Group*, int64_t, const int64_t*, const int64_t*);

int run(const CfcProblem* p, Run kernel) try {
  if (p->B == 1 && !p->lengths) {  // the way of one sample at a time, without a heap
    const int64_t order[1] = {0}, offsets[2] = {0, p->T};
    const Group group{1, 0};
    return kernel(p, &group, 1, order, offsets);
  }
  Division division(p->B, p->T, p->lengths, p->threads, work_of(*p));
  CfcProblem local = *p;
  local.threads = division.threads;
  return kernel(&local, division.groups.data(), static_cast<int64_t>(division.groups.size()), division.order.data(),
                division.offsets.data());
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

LT_EXPORT int64_t lt_cfc_packed_size(const CfcProblem* p, int64_t wide) { return current.load()->cfc->packed_size[wide](p); }
LT_EXPORT void lt_cfc_pack(const CfcProblem* p, int64_t wide) { current.load()->cfc->pack[wide](p); }
LT_EXPORT int lt_cfc_forward(const CfcProblem* p, int64_t wide) { return run(p, current.load()->cfc->forward[wide]); }
LT_EXPORT int lt_cfc_backward(const CfcProblem* p, int64_t wide) { return run(p, current.load()->cfc->backward[wide]); }
