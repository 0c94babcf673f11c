// What every function at the C boundary shares: how it is exported, and the codes that it returns.
#pragma once

#ifdef _WIN32
#define LT_EXPORT extern "C" __declspec(dllexport)
#else
#define LT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// Raised by one with every change of a structure or function that Python calls; `library.py` has the same number.
#define LT_ABI 4

namespace liquidtime {

// Mirrored in library.py. Beyond the first, nothing has been read or written but what was looked at.
enum Code : int {
  done = 0,
  no_memory = 1,
  bad_interval = 2,  // negative, NaN or infinite
  bad_length = 3,    // negative or beyond T
  bad_problem = 4,   // a size, choice or pointer that no caller of this version gives
  stale = 5,         // weights differ from those that were packed
  unfit = 6,         // a tensor of another shape, type or device, or without memory
};

}  // namespace liquidtime
