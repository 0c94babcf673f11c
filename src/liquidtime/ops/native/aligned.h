// Memory aligned for vectors or pages.
#pragma once

#include <cstddef>
#include <cstdlib>

#ifdef _WIN32
#include <malloc.h>
#endif

namespace liquidtime {
namespace {  // each instruction set's own: the linker must not take one for all

// `bytes` is a multiple of `alignment`; null if there is not enough memory.
inline void* aligned_memory(std::size_t alignment, std::size_t bytes) {
#ifdef _WIN32
  return _aligned_malloc(bytes, alignment);
#else
  return std::aligned_alloc(alignment, bytes);
#endif
}

inline void free_aligned(void* data) {
#ifdef _WIN32
  _aligned_free(data);
#else
  std::free(data);
#endif
}

}  // namespace
}  // namespace liquidtime
