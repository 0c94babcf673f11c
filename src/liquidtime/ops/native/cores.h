// How many cores this process may use at a time.
#pragma once

#include <cstdint>

namespace liquidtime {

// The least of what its affinity and the quotas of its control groups allow, at least 1; looked up once.
int64_t cores();

}  // namespace liquidtime
