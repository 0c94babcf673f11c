// Tensors read through PyTorch's stable C interface, passed as the address of their implementation.
#pragma once

#include <cstdint>

namespace liquidtime {

struct View {
  int64_t dim;
  const int64_t *sizes, *strides;  // in numbers
  char* data;

  bool has_shape(int64_t axes, const int64_t* shape) const;
  bool is_dense() const;
};

// Read a tensor of float32, or float64 if `wide`, on the CPU. False if it is another kind of tensor, or if its memory
// does not hold all its numbers.
bool look(const void* tensor, int64_t wide, View& view);

}  // namespace liquidtime
