// Positions of the rows and samples of a batch. Plain data, which kernels of every instruction set include.
#pragma once

#include <cstdint>

namespace liquidtime {

// Rows of the batch that one thread processes through all steps, longest first: `rows` of `order`, from `first` on.
// Their samples are together, so that threads do not write to neighbouring lines of memory: row i at step t is sample
// `sample` + starts[t] + i, where starts[t] is t·rows if `starts` is null.
struct Group {
  int64_t rows, first, sample;
  const int64_t* starts;
};

// Division of the batch.
struct Rows {
  const Group* groups;
  int64_t count;
  const int64_t *order, *lengths;  // `lengths` is null if every row has T steps
  int64_t samples;                 // how many there are
  int64_t team;                    // how many threads are worth waking, independently of the division
};

}  // namespace liquidtime
