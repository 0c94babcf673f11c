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

// A batch in groups of equal work, longest rows first within each. Lengths have been checked.
struct Division {
  std::vector<int64_t> order, starts, rank;
  std::vector<Group> groups;
  Rows rows{};
  int64_t threads;

  Division(int64_t B, int64_t T, const int64_t* lengths, int64_t threads_wanted, double work_per_sample)
      : order(B), threads(threads_wanted) {
    std::iota(order.begin(), order.end(), int64_t(0));
    if (lengths) {
      std::stable_sort(order.begin(), order.end(), [=](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
      rank.resize(B);
      for (int64_t k = 0; k < B; ++k) rank[order[k]] = k;
      starts.assign(T + 1, 0);
      for (int64_t t = 0, active = B; t < T; ++t) {
        while (active > 0 && lengths[order[active - 1]] <= t) --active;
        starts[t + 1] = starts[t] + active;
      }
    }
    const double samples = lengths ? static_cast<double>(starts[T]) : static_cast<double>(B) * static_cast<double>(T);
    const double work = samples * work_per_sample;
    threads = std::max<int64_t>(1, std::min<int64_t>(threads, static_cast<int64_t>(work / thread_work)));
    int64_t count = (B + group_rows - 1) / group_rows;
    count = std::min<int64_t>(B, (count + threads - 1) / threads * threads);  // equal groups per thread
    if (lengths && count > 1) {
      std::vector<std::vector<int64_t>> dealt(count);
      for (int64_t k = 0; k < B; ++k) {
        const int64_t turn = k % (2 * count);
        dealt[turn < count ? turn : 2 * count - 1 - turn].push_back(order[k]);
      }
      int64_t at = 0;
      for (const auto& part : dealt) {
        groups.push_back({static_cast<int64_t>(part.size()), at});
        at = std::copy(part.begin(), part.end(), order.begin() + at) - order.begin();
      }
    } else {
      for (int64_t k = 0; k < count; ++k) groups.push_back({B * (k + 1) / count - B * k / count, B * k / count});
    }
    rows = {groups.data(), static_cast<int64_t>(groups.size()), order.data(), lengths,
            lengths ? starts.data() : nullptr, lengths ? rank.data() : nullptr,
            std::max<int64_t>(1, std::min<int64_t>(threads, static_cast<int64_t>(work / team_work)))};
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
