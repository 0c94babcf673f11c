#include "parallel.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "boundary.h"

#ifndef _WIN32
#include <dlfcn.h>
#include <pthread.h>
#endif

namespace liquidtime {
namespace {

// PyTorch loads its OpenMP runtime into the global scope. Taking part in its team means that no second set of threads
// competes for the cores, and that threads which are still awake from a product start at once.
using Team = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);

#ifdef _WIN32
Team team() { return nullptr; }
#else
// The team's threads are not there in a forked child, which would wait for them for ever.
std::atomic<bool> forked{false};
const int at_fork = pthread_atfork(nullptr, nullptr, [] { forked = true; });

Team team() {
  static const Team shared = reinterpret_cast<Team>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  return forked.load(std::memory_order_relaxed) ? nullptr : shared;
}
#endif

struct Work {
  std::atomic<int64_t> next{0};
  int64_t count;
  void (*piece)(void*, int64_t);
  void* context;

  void drain() {
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) piece(context, index);
  }
};

void drain(void* work) { static_cast<Work*>(work)->drain(); }

}  // namespace

void run_pieces(int64_t threads, int64_t count, void (*piece)(void*, int64_t), void* context) {
  Work work;
  work.count = count;
  work.piece = piece;
  work.context = context;
  if (threads > count) threads = count;
  if (threads <= 1) return work.drain();
  if (const Team shared = team()) return shared(drain, &work, static_cast<unsigned>(threads), 0);
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(threads));
  for (int64_t k = 1; k < threads; ++k) {
    try {
      others.emplace_back(drain, &work);
    } catch (const std::system_error&) {
      break;  // no thread to be had: this one does the work
    }
  }
  work.drain();
  for (std::thread& other : others) other.join();
}

}  // namespace liquidtime

// Whose threads run the pieces: 1 the OpenMP runtime's, 0 the library's own.
LT_EXPORT int64_t lt_shares_threads() { return liquidtime::team() != nullptr; }
