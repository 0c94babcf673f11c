// The build targets of the kernels, one for each instruction set, and which of them runs.
#pragma once

#include <cstdint>

namespace liquidtime {

// The best first. An operation has its functions in a table of this order.
enum Target : int64_t {
#ifdef LT_X86
  target_avx512,
  target_avx2,
#endif
  target_baseline,
  target_count,
};

// The target that runs now.
int64_t current_target();

}  // namespace liquidtime
