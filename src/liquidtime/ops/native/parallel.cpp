#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "boundary.h"
#include "cores.h"

#ifndef _WIN32
#include <pthread.h>
#endif

namespace liquidtime {
namespace {

struct Work {
  std::atomic<int64_t> next{0};
  int64_t count;
  void (*piece)(void*, int64_t);
  void* context;
  int64_t seats, inside = 0;  // how many more helpers may join, and how many are working; protected by the pool's lock
  std::condition_variable left;

  void drain() {
    for (int64_t index; (index = next.fetch_add(1, std::memory_order_relaxed)) < count;) piece(context, index);
  }
};

// Threads that sleep until there is work. Nobody waits for a helper that has not started: any awake thread takes
// pieces, and at the end the caller sleeps until the helpers that did start are done. Nothing spins, so on a busy
// machine a thread that is not scheduled does not waste the time of others.
class Pool {
 public:
  void run(int64_t threads, Work& work) {
    work.seats = threads - 1;
    {
      const std::lock_guard<std::mutex> hold(lock_);
      while (size_ < threads - 1 && start()) ++size_;
      waiting_.push_back(&work);
    }
    for (int64_t k = 1; k < threads; ++k) awake_.notify_one();
    work.drain();
    std::unique_lock<std::mutex> hold(lock_);
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), &work), waiting_.end());
    work.left.wait(hold, [&] { return work.inside == 0; });
  }

 private:
  bool start() {
    try {
      std::thread(&Pool::help, this).detach();
      return true;
    } catch (const std::system_error&) {
      return false;  // no thread available: the others do the work
    }
  }

  void help() {
    std::unique_lock<std::mutex> hold(lock_);
    for (;;) {
      awake_.wait(hold, [&] { return !waiting_.empty(); });
      Work& work = *waiting_.front();
      ++work.inside;
      if (--work.seats == 0) waiting_.pop_front();
      hold.unlock();
      work.drain();
      hold.lock();
      if (--work.inside == 0) work.left.notify_one();
    }
  }

  std::mutex lock_;
  std::condition_variable awake_;
  std::deque<Work*> waiting_;  // with seats
  int64_t size_ = 0;
};

// Never destroyed, because its threads sleep in it to the end. A forked child has none of them and gets a new pool.
Pool* pool = new Pool;
#ifndef _WIN32
const int at_fork = pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
#endif

}  // namespace

void run_pieces(int64_t threads, int64_t count, void (*piece)(void*, int64_t), void* context) {
  threads = std::min(threads, count);
  if (threads > 1) threads = std::min(threads, cores());
  Work work;
  work.count = count;
  work.piece = piece;
  work.context = context;
  if (threads <= 1) return work.drain();
  pool->run(threads, work);
}

}  // namespace liquidtime
