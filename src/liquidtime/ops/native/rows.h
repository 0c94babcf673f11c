// Where the rows and samples of a batch lie. Plain data: kernels of every instruction set include it.
#pragma once

#include <cstdint>

namespace liquidtime {

// Rows of the batch that one thread takes through all steps, longest first: `rows` of `order`, from `first` on.
struct Group {
  int64_t rows, first;
};

// How the batch is divided, and where its samples lie: sample (b, t) is starts[t] + rank[b].
struct Rows {
  const Group* groups;
  int64_t count;
  const int64_t *order, *lengths, *starts, *rank;  // the last three are null where every row has T steps
  int64_t team;                                    // how many threads are worth waking, whatever the division
};

}  // namespace liquidtime
