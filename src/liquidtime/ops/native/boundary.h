// Shared by all functions at the C boundary: how they are exported, and the codes that they return.
#pragma once

#ifdef _WIN32
#define LT_EXPORT extern "C" __declspec(dllexport)
#else
#define LT_EXPORT extern "C" __attribute__((visibility("default")))
#endif

// Increased by one with every change of a structure or function that Python calls; `library.py` has the same number.
#define LT_ABI 5

namespace liquidtime {

// Mirrored in library.py. With any code except the first, nothing but the checked arguments has been read or written.
enum Code : int {
  done = 0,
  no_memory = 1,
  bad_interval = 2,  // negative, NaN or infinite
  bad_length = 3,    // negative or beyond T
  bad_problem = 4,   // a size, choice or pointer that no caller of this version passes
  stale = 5,         // weights differ from the packed ones
  unfit = 6,         // a tensor of the wrong shape, type or device, or without memory
};

}  // namespace liquidtime
