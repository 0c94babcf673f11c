#include "parallel.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

// PyTorch loads its OpenMP runtime into the global scope. Taking part in its team means that no second set of threads
// competes for the cores, and that threads which are still awake from a product start at once.
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) __attribute__((weak));

namespace liquidtime {
namespace {

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
  if (GOMP_parallel != nullptr) return GOMP_parallel(drain, &work, static_cast<unsigned>(threads), 0);
  std::vector<std::thread> others;
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
