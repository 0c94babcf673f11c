// Sizes of a scan, and the positions of its samples and saved data.
#pragma once

#include <cstdlib>
#include <initializer_list>

#include "../../native/aligned.h"
#include "../../native/gemm.h"
#include "problem.h"

namespace LT_TARGET {
namespace {

using namespace liquidtime;

template <class T> LT_INLINE void copy(T* to, const T* from, int64_t n) { std::memcpy(to, from, n * sizeof(T)); }
template <class T> LT_INLINE void zero(T* to, int64_t n) { std::memset(to, 0, n * sizeof(T)); }

LT_INLINE int64_t most_of(int64_t a, int64_t b) { return a > b ? a : b; }

// Sizes and pointers in the kernel's own types.
template <class T> struct Sizes {
  const CfcProblem& p;
  int64_t V = lanes<T>, Hp, Up, D0, F0, F, passes, width0, width_lstm, saved;

  explicit Sizes(const CfcProblem& problem) : p(problem) {
    Hp = padded<T>(p.H);
    Up = padded<T>(p.U);
    D0 = p.memory == input ? p.H : p.D;  // width of the cell's input
    F0 = D0 + p.H;
    F = p.layers > 0 ? p.U : F0;
    passes = p.kind == cf_s_paper ? 2 : 1;
    width0 = D0 + Hp;
    width_lstm = p.D + Hp;
    saved = p.kind == cf_s ? 2 : p.kind == cf_s_paper ? 3 : p.need_ddt ? 4 : 3;
  }

  const T* in(const void* q) const { return static_cast<const T*>(q); }
  T* out(void* q) const { return static_cast<T*>(q); }
  const T* x(int64_t b, int64_t t) const { return in(p.x) + b * p.x_row + t * p.x_step; }
  T dt(int64_t b, int64_t t) const { return in(p.dt)[b * p.dt_row + t * p.dt_step]; }
  // The hidden state that a step starts from.
  const T* before(int64_t b, int64_t t) const { return t ? out(p.y) + (b * p.T + t - 1) * p.H : in(p.h0) + b * p.H; }
  const T* bias(int64_t index) const { return in(p.bias[index]); }
};

// The rows of a group, and the positions of their samples.
struct Places {
  const Group& group;
  const int64_t *rows, *lengths;
  int64_t T;

  Places(const Rows& all, int64_t index, int64_t steps)
      : group(all.groups[index]), rows(all.order + group.first), lengths(all.lengths), T(steps) {}

  // The steps of the group's row i, its sample at a step, and the first sample of all rows at a step.
  int64_t length(int64_t i) const { return lengths ? lengths[rows[i]] : T; }
  int64_t start(int64_t t) const { return group.sample + (group.starts ? group.starts[t] : t * group.rows); }
  int64_t sample(int64_t i, int64_t t) const { return start(t) + i; }
};

// The results of the heads in one step: for each two vectors of units the rows of the group, and in each row the values
// side by side, so that both runs read them from front to end.
template <class T> struct Gates {
  T* data;
  int64_t values, rows, Hp;

  Gates(const Sizes<T>& s, const Places& places, int64_t t)
      : data(s.out(s.p.gates) + places.start(t) * s.saved * s.Hp),
        values(s.saved),
        rows(places.start(t + 1) - places.start(t)),
        Hp(s.Hp) {}

  // The first of a row's values of the units from u on, which begin a pair of vectors; values are `width` apart.
  int64_t width(int64_t u) const { return Hp - u < 2 * lanes<T> ? Hp - u : 2 * lanes<T>; }
  T* at(int64_t row, int64_t u) const { return data + (u * rows + row * width(u)) * values; }
};

// Working memory that a thread keeps for its next run, since new memory costs as much as the work on it.
class Room {
  static constexpr size_t kept_at_most = size_t(1) << 24;

  struct Kept {
    void* data = nullptr;
    size_t size = 0;
    bool taken = false;
    ~Kept() { free_aligned(data); }
  };
  static Kept& kept() {
    static thread_local Kept room;
    return room;
  }
  void* data;
  bool own;

 public:
  explicit Room(size_t bytes) {
    Kept& room = kept();
    bytes = (bytes + 4095) / 4096 * 4096;
    own = room.taken || bytes > kept_at_most;
    if (own) {
      data = aligned_memory(64, bytes);
      return;
    }
    if (room.size < bytes) {
      free_aligned(room.data);
      room.data = aligned_memory(64, bytes);
      room.size = room.data ? bytes : 0;
    }
    room.taken = true;
    data = room.data;
  }
  ~Room() {
    if (own)
      free_aligned(data);
    else
      kept().taken = false;
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  template <class T> T* as() const { return static_cast<T*>(data); }
};

// Parts of one piece of memory, each on a cache line of its own; without memory it only counts.
template <class T> struct Parts {
  T* data;
  int64_t used = 0;

  T* take(int64_t count) {
    T* part = data ? data + used : nullptr;
    used += (count + 15) / 16 * 16;
    return part;
  }
};

}  // namespace
}  // namespace LT_TARGET
