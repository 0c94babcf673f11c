// Large pieces of memory that are reused: touching new memory for the first time costs several times the work on it.
#include <cstdint>
#include <cstdlib>
#include <list>
#include <mutex>

#include "aligned.h"
#include "boundary.h"

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#endif

namespace {

struct Piece {
  void* data;
  size_t size;
};

constexpr size_t page = size_t(1) << 21, kept_at_most = size_t(1) << 28;

// Unused pieces, the most recently returned first.
std::mutex lock;
std::list<Piece>& pieces() {
  static auto* kept = new std::list<Piece>;  // never destroyed: tensors may outlive every static
  return *kept;
}
size_t kept_bytes = 0;

#ifndef _WIN32
// If a process forks while another thread holds the lock, the child would be locked for ever.
const int at_fork = pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });
#endif

void advise(void* data, size_t bytes) {
#ifdef __linux__
  const uintptr_t first = reinterpret_cast<uintptr_t>(data);
  const uintptr_t from = (first + page - 1) / page * page, to = (first + bytes) / page * page;
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
#else
  (void)data, (void)bytes;
#endif
}

}  // namespace

// Request large pages for a large buffer.
LT_EXPORT void lt_advise(void* data, int64_t bytes) { advise(data, static_cast<size_t>(bytes)); }

// Return the size of the piece for a buffer of this many bytes.
LT_EXPORT int64_t lt_piece_size(int64_t bytes) {
  return static_cast<int64_t>((static_cast<size_t>(bytes) + page - 1) / page * page);
}

// Take a piece of a size from `lt_piece_size`, a used one if there is one; null if there is not enough memory.
LT_EXPORT void* lt_take(int64_t size) {
  const size_t wanted = static_cast<size_t>(size);
  {
    const std::lock_guard<std::mutex> guard(lock);
    for (auto at = pieces().begin(); at != pieces().end(); ++at)
      if (at->size == wanted) {
        void* data = at->data;
        kept_bytes -= at->size;
        pieces().erase(at);
        return data;
      }
  }
  void* data = liquidtime::aligned_memory(page, wanted);
  if (data) advise(data, wanted);
  return data;
}

// Return a piece. The oldest pieces are freed if more than 256 MB are unused.
LT_EXPORT void lt_give(void* data, int64_t size) try {
  const std::lock_guard<std::mutex> guard(lock);
  pieces().push_front({data, static_cast<size_t>(size)});
  kept_bytes += static_cast<size_t>(size);
  while (kept_bytes > kept_at_most) {
    kept_bytes -= pieces().back().size;
    liquidtime::free_aligned(pieces().back().data);
    pieces().pop_back();
  }
} catch (...) {
  liquidtime::free_aligned(data);  // no memory for the list of pieces
}
