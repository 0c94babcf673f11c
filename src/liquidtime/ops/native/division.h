// Division of a batch among threads, and checks of the inputs of every scan: lengths and intervals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "boundary.h"
#include "rows.h"

namespace liquidtime {

constexpr int64_t group_rows = 64;     // enough to reuse a panel of weights, few enough for the second-level cache
constexpr double thread_work = 2.0e5;  // smallest number of multiply-adds per part of a batch
constexpr double team_work = 1.5e6;    // smallest number of multiply-adds for which waking a thread pays off

inline int64_t samples_of(int64_t B, int64_t T, const int64_t* lengths) {
  return lengths ? std::accumulate(lengths, lengths + B, int64_t(0)) : B * T;
}

// How many threads are worth waking for so many multiply-adds.
inline int64_t team_of(int64_t threads, double work) {
  return std::max<int64_t>(1, std::min<int64_t>(threads, static_cast<int64_t>(work / team_work)));
}

// The rows of a batch by length, the longest first. Lengths have been checked.
inline std::vector<int64_t> by_length(int64_t B, const int64_t* lengths) {
  std::vector<int64_t> order(B);
  std::iota(order.begin(), order.end(), int64_t(0));
  if (lengths)
    std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  return order;
}

// A batch in groups of equal work, longest rows first within each. Lengths have been checked. Of a backward run the
// number of groups is given, which is that of its forward run, whatever the number of threads is by now.
struct Division {
  std::vector<int64_t> order, starts;
  std::vector<Group> groups;
  Rows rows{};
  int64_t threads;

  Division(int64_t B, int64_t T, const int64_t* lengths, int64_t threads_wanted, double work_per_sample, int64_t given)
      : order(by_length(B, lengths)) {
    const int64_t samples = samples_of(B, T, lengths);
    const double work = static_cast<double>(samples) * work_per_sample;
    threads = std::max<int64_t>(1, std::min<int64_t>(threads_wanted, static_cast<int64_t>(work / thread_work)));
    int64_t count = (B + group_rows - 1) / group_rows;
    count = std::min<int64_t>(B, (count + threads - 1) / threads * threads);  // equal groups per thread
    if (given) count = given;
    if (lengths && count > 1) {
      std::vector<std::vector<int64_t>> dealt(count);
      for (int64_t k = 0; k < B; ++k) {
        const int64_t turn = k % (2 * count);
        dealt[turn < count ? turn : 2 * count - 1 - turn].push_back(order[k]);
      }
      int64_t at = 0;
      for (const auto& part : dealt) {
        groups.push_back({static_cast<int64_t>(part.size()), at, 0, nullptr});
        at = std::copy(part.begin(), part.end(), order.begin() + at) - order.begin();
      }
    } else {
      for (int64_t k = 0; k < count; ++k)
        groups.push_back({B * (k + 1) / count - B * k / count, B * k / count, B * k / count * T, nullptr});
    }
    if (lengths) place(T, lengths);
    rows = {groups.data(), static_cast<int64_t>(groups.size()), order.data(), lengths, samples, team_of(threads, work)};
  }

 private:
  // Where the samples of rows of different lengths lie: group by group, step by step.
  void place(int64_t T, const int64_t* lengths) {
    starts.resize(groups.size() * (T + 1));
    int64_t* own = starts.data();
    int64_t sample = 0;
    for (Group& group : groups) {
      group.sample = sample, group.starts = own;
      int64_t active = group.rows;
      own[0] = 0;
      for (int64_t t = 0; t < T; ++t) {
        while (active > 0 && lengths[order[group.first + active - 1]] <= t) --active;
        own[t + 1] = own[t] + active;
      }
      sample += own[T];
      own += T + 1;
    }
  }
};

inline bool good_lengths(int64_t B, int64_t T, const int64_t* lengths) {
  bool good = true;
  for (int64_t b = 0; lengths && b < B; ++b) good &= lengths[b] >= 0 && lengths[b] <= T;
  return good;
}

template <class T> bool is_bad(T value) { return !(value >= 0 && value < T(HUGE_VAL)); }

// Whether every interval inside a series is finite and at least 0. Lengths have been checked.
template <class T>
bool good_intervals(int64_t B, int64_t steps, const int64_t* lengths, const void* dt, int64_t row, int64_t step) {
  for (int64_t b = 0; b < B; ++b) {
    const T* from = static_cast<const T*>(dt) + b * row;
    const int64_t count = lengths ? lengths[b] : steps;
    bool bad = false;
    for (int64_t t = 0; t < count; ++t) bad |= is_bad(from[t * step]);
    if (bad) return false;
  }
  return true;
}

}  // namespace liquidtime
