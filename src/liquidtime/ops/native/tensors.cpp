#include "tensors.h"

#include "boundary.h"

namespace liquidtime {

// Set once by library.py, in this order, from torch/csrc/inductor/aoti_torch/c/shim.h. A handle is a pointer to a
// tensor, which consists only of a pointer to its implementation.
struct Torch {
  int32_t (*device_type)(const void* const*, int32_t*);
  int32_t (*layout)(const void* const*, int32_t*);
  int32_t (*dtype)(const void* const*, int32_t*);
  int32_t (*dim)(const void* const*, int64_t*);
  int32_t (*sizes)(const void* const*, const int64_t**);
  int32_t (*strides)(const void* const*, const int64_t**);
  int32_t (*storage_offset)(const void* const*, int64_t*);
  int32_t (*storage_size)(const void* const*, int64_t*);
  int32_t (*data_ptr)(const void* const*, void**);
  int64_t cpu, strided, narrow, wide;
};

namespace {
Torch torch{};
}

bool View::has_shape(int64_t axes, const int64_t* shape) const {
  if (dim != axes) return false;
  for (int64_t k = 0; k < axes; ++k)
    if (sizes[k] != shape[k]) return false;
  return true;
}

bool View::is_dense() const {
  int64_t step = 1;
  for (int64_t k = dim - 1; k >= 0; --k) {
    if (sizes[k] == 0) return true;
    if (sizes[k] != 1 && strides[k] != step) return false;
    step *= sizes[k];
  }
  return true;
}

bool look(const void* tensor, int64_t wide, View& view) {
  int32_t device, layout, dtype;
  int64_t offset, bytes;
  void* data;
  if (!tensor || !torch.data_ptr || torch.device_type(&tensor, &device) || device != torch.cpu) return false;
  if (torch.layout(&tensor, &layout) || layout != torch.strided) return false;
  if (torch.dtype(&tensor, &dtype) || dtype != (wide ? torch.wide : torch.narrow)) return false;
  if (torch.dim(&tensor, &view.dim) || torch.sizes(&tensor, &view.sizes) || torch.strides(&tensor, &view.strides))
    return false;
  if (torch.storage_offset(&tensor, &offset) || torch.storage_size(&tensor, &bytes) || torch.data_ptr(&tensor, &data))
    return false;
  view.data = static_cast<char*>(data);
  int64_t last = offset + 1;
  for (int64_t k = 0; k < view.dim; ++k) {
    if (view.sizes[k] == 0) return true;
    if (view.strides[k] < 0) return false;
    last += (view.sizes[k] - 1) * view.strides[k];
  }
  return data && last * (wide ? 8 : 4) <= bytes;
}

}  // namespace liquidtime

LT_EXPORT void lt_use_torch(const liquidtime::Torch* functions) { liquidtime::torch = *functions; }

// Result of `look`: number of axes, address, sizes and strides; -1 if the tensor cannot be read.
LT_EXPORT int64_t lt_look(const void* tensor, int64_t wide, int64_t room, int64_t* out) {
  liquidtime::View view;
  if (!out || !liquidtime::look(tensor, wide, view) || 2 * view.dim + 1 > room) return -1;
  *out++ = reinterpret_cast<int64_t>(view.data);
  for (int64_t k = 0; k < view.dim; ++k) *out++ = view.sizes[k];
  for (int64_t k = 0; k < view.dim; ++k) *out++ = view.strides[k];
  return view.dim;
}
