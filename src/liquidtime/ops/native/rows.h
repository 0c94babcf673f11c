// Positions of the rows and samples of a batch. Plain data, which kernels of every instruction set include.
#pragma once

#include <cstdint>

namespace liquidtime {

// Rows of the batch that one thread processes through all steps, longest first: `rows` of `order`, from `first` on.
struct Group {
  int64_t rows, first;
};

// Division of the batch, and positions of its samples: sample (b, t) is starts[t] + rank[b].
struct Rows {
  const Group* groups;
  int64_t count;
  const int64_t *order, *lengths, *starts, *rank;  // the last three are null if every row has T steps
  int64_t team;                                    // how many threads are worth waking, independently of the division
};

}  // namespace liquidtime
