// From tensors to the pointers, sizes and strides of a problem, if they fit it as they are.
#include "../../native/tensors.h"

#include "../../native/boundary.h"
#include "problem.h"

namespace {

using namespace liquidtime;

struct Reader {
  int64_t wide;
  View view;

  // Whether a tensor has a shape and dense numbers, and its address.
  template <int64_t axes> bool dense(const void* tensor, const int64_t (&shape)[axes], const void*& place) {
    if (!look(tensor, wide, view) || !view.has_shape(axes, shape) || !view.is_dense()) return false;
    place = view.data;
    return true;
  }

  // The same for tensors that may be absent, which have no address.
  template <int64_t axes> bool given(const void* tensor, const int64_t (&shape)[axes], const void*& place) {
    return !tensor || dense(tensor, shape, place);
  }

  // The same for (B,T,n), of which only the last axis must be dense.
  bool rows(const void* tensor, const void*& place, int64_t& row, int64_t& step) {
    if (!look(tensor, wide, view) || view.dim != 3 || (view.strides[2] != 1 && view.sizes[2] != 1)) return false;
    place = view.data, row = view.strides[0], step = view.strides[1];
    return true;
  }

  bool weight(const void* const*& from, int64_t units, int64_t width, const void*& weight, const void*& bias) {
    return dense(*from++, {units, width}, weight) && dense(*from++, {units}, bias);
  }
};

bool point(CfcProblem& p, const CfcTensors& t, int64_t wide) {
  Reader read{wide, {}};
  const int64_t head = 2 * p.layers;
  if (!read.rows(t.x, p.x, p.x_row, p.x_step)) return false;
  p.B = read.view.sizes[0], p.T = read.view.sizes[1], p.D = read.view.sizes[2];
  if (!look(t.weights[head], wide, read.view) || read.view.dim != 2 || p.D < 1 || p.heads < 1) return false;
  p.H = read.view.sizes[0] / p.heads;
  if (p.layers && (!look(t.weights[0], wide, read.view) || read.view.dim != 2)) return false;
  p.U = p.layers ? read.view.sizes[0] : 0;
  if (p.H < 1 || (p.layers && p.U < 1)) return false;

  if (!look(t.dt, wide, read.view) || read.view.dim != 2 || read.view.sizes[0] != p.B || read.view.sizes[1] != p.T)
    return false;
  p.dt = read.view.data, p.dt_row = read.view.strides[0], p.dt_step = read.view.strides[1];
  if (!read.dense(t.h0, {p.B, p.H}, p.h0)) return false;
  if (p.memory != none && !read.dense(t.m0, {p.B, p.H}, p.m0)) return false;

  const void* const* from = t.weights;
  int64_t width = (p.memory == input ? p.H : p.D) + p.H;
  for (int64_t k = 0; k < p.layers; ++k, width = p.U)
    if (!read.weight(from, p.U, width, p.weight[k], p.bias[k])) return false;
  if (!read.weight(from, p.heads * p.H, width, p.weight[p.layers], p.bias[p.layers])) return false;
  if (p.kind >= cf_s) {
    const void** const vectors[3] = {&p.A, &p.rate, &p.B_};
    const int count = p.kind == cf_s || p.state_amplitude ? 2 : 3;
    for (int k = 0; k < count; ++k)
      if (!read.dense(*from++, {p.H}, *vectors[k])) return false;
  }
  if (p.memory != none && !read.weight(from, 4 * p.H, p.D + p.H, p.weight[p.layers + 1], p.bias[p.layers + 1])) return false;

  const void *y = nullptr, *saved = nullptr;
  if (!read.given(t.y, {p.B, p.T, p.H}, y) || !read.given(t.saved, {t.saved_count}, saved)) return false;
  p.y = const_cast<void*>(y), p.gates = const_cast<void*>(saved);
  if (t.dy) {
    const int64_t shape[3] = {p.B, p.T, p.H};
    if (!read.rows(t.dy, p.dy, p.dy_row, p.dy_step) || !read.view.has_shape(3, shape)) return false;
  }
  return read.given(t.dhn, {p.B, p.H}, p.dhn) && read.given(t.dmn, {p.B, p.H}, p.dmn);
}

}  // namespace

// Fill in the part of a problem that comes from tensors; `gates` becomes the address of the saved data. A `Code`:
// `unfit` if a tensor has the wrong shape, type, device or strides, or no memory; the problem cannot be used then.
LT_EXPORT int lt_cfc_point(CfcProblem* p, const CfcTensors* t, int64_t wide) {
  return p && t && p->layers >= 0 && p->layers <= max_layers && point(*p, *t, wide) ? done : unfit;
}
