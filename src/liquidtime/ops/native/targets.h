// The build targets of the kernels, one for each instruction set, and the choice of the one to run.
#pragma once

#include <cstdint>

namespace liquidtime {

// The best first. The table of functions of an operation has this order.
enum Target : int64_t {
#ifdef LT_X86
  target_avx512,
  target_avx2,
#endif
  target_baseline,
  target_count,
};

// The target that is in use.
int64_t current_target();

}  // namespace liquidtime
