#include "targets.h"

#include <atomic>
#include <cstring>

#include "boundary.h"

namespace liquidtime {
namespace {

const char* const names[] = {
#ifdef LT_X86
    "avx512",
    "avx2",
#endif
    "baseline",
};

bool can_run(const char* name) {
#ifdef LT_X86
  __builtin_cpu_init();
  if (!std::strcmp(name, "avx512"))
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
  if (!std::strcmp(name, "avx2")) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return !std::strcmp(name, "baseline");
}

int64_t best() {
  for (int64_t target = 0; target < target_count; ++target)
    if (can_run(names[target])) return target;
  return target_baseline;
}

std::atomic<int64_t> current{best()};

}  // namespace

int64_t current_target() { return current.load(std::memory_order_relaxed); }

}  // namespace liquidtime

using namespace liquidtime;

// The version of the package, and the number of the interface, with which this library was built.
LT_EXPORT const char* lt_version() { return LT_VERSION; }
LT_EXPORT int64_t lt_abi() { return LT_ABI; }

LT_EXPORT const char* lt_target() { return names[current_target()]; }

// Choose a build target by name; 0 if this machine can run it, otherwise `bad_problem` and no change.
LT_EXPORT int lt_select(const char* name) {
  for (int64_t target = 0; name && target < target_count; ++target)
    if (!std::strcmp(names[target], name) && can_run(name)) {
      current = target;
      return done;
    }
  return bad_problem;
}
