// Number of cores that this process may use at a time.
#pragma once

#include <cstdint>

namespace liquidtime {

// The minimum of what its affinity and the quotas of its control groups allow, at least 1; determined once.
int64_t cores();

}  // namespace liquidtime
