// Single samples without gradients: one call for every layer of a stack, with weights that were packed before.
#include <cstring>
#include <vector>

#include "../../native/boundary.h"
#include "../../native/division.h"
#include "../../native/tensors.h"
#include "problem.h"

LT_EXPORT int lt_cfc_forward(const liquidtime::CfcProblem* p, int64_t wide);

namespace {

using namespace liquidtime;

// Whether the weights still have the shapes and bytes from which they were packed.
bool are_fresh(const CfcStep& s, const void* const* now) {
  for (int64_t k = 0; k < s.source_count; ++k) {
    const CfcSource& source = s.sources[k];
    View view;
    if (!look(now[k], s.wide, view) || !view.has_shape(source.dim, source.sizes) || !view.is_dense()) return false;
    if (source.bytes && std::memcmp(view.data, source.then, source.bytes)) return false;
  }
  return true;
}

// The numbers of up to three axes one after another: in place, or in a copy.
const char* dense(const View& view, int64_t item, std::vector<char>& room) {
  if (view.is_dense()) return view.data;
  int64_t sizes[3] = {1, 1, 1}, strides[3] = {0, 0, 0}, count = item;
  for (int64_t k = 0; k < view.dim; ++k) {
    sizes[3 - view.dim + k] = view.sizes[k], strides[3 - view.dim + k] = view.strides[k];
    count *= view.sizes[k];
  }
  room.resize(count);
  char* to = room.data();
  for (int64_t i = 0; i < sizes[0]; ++i)
    for (int64_t j = 0; j < sizes[1]; ++j)
      for (int64_t k = 0; k < sizes[2]; ++k, to += item)
        std::memcpy(to, view.data + (i * strides[0] + j * strides[1] + k * strides[2]) * item, item);
  return room.data();
}

// Stride of the first axis of dt; -1 if dt does not fit B rows.
int64_t row_of(const View& dt, int64_t B) {
  if (dt.dim == 0) return 0;
  return dt.sizes[0] == B && (dt.dim == 1 || (dt.dim == 2 && dt.sizes[1] == 1)) ? dt.strides[0] : -1;
}

int step(const CfcStep& s, const void* const* now) {
  if (s.count < 1 || s.source_count < 0 || !s.layers || (s.source_count && !s.sources)) return bad_problem;
  for (int64_t k = 0; k < s.count; ++k)
    if (!s.layers[k] || !s.layers[k]->packed || s.layers[k]->H != s.layers[0]->H) return bad_problem;
  const CfcProblem& first = *s.layers[0];
  View x, h, m, dt, y, hn, mn;
  if (!look(s.x, s.wide, x) || x.dim != 2 || x.sizes[1] != first.D) return unfit;
  const int64_t B = x.sizes[0], state[3] = {s.count, B, first.H};
  const auto fits = [&](const void* tensor, View& view) { return look(tensor, s.wide, view) && view.has_shape(3, state); };
  if (!fits(s.h, h) || !fits(s.hn, hn) || !hn.is_dense()) return unfit;
  if (!look(s.y, s.wide, y) || !y.has_shape(2, state + 1) || !y.is_dense()) return unfit;
  const bool remembers = first.memory != none;
  if (remembers && (!fits(s.m, m) || !fits(s.mn, mn) || !mn.is_dense())) return unfit;
  if (s.dt && (!look(s.dt, s.wide, dt) || row_of(dt, B) < 0)) return unfit;
  if (!are_fresh(s, now)) return stale;
  const float narrow_dt = static_cast<float>(s.every_dt);
  if (!s.dt && (is_bad(s.every_dt) || (!s.wide && is_bad(narrow_dt)))) return bad_interval;
  const int64_t item = s.wide ? 8 : 4, bytes = B * first.H * item;
  std::vector<char> of_x, of_h, of_m;
  const char *from = dense(x, item, of_x), *h0 = dense(h, item, of_h), *m0 = remembers ? dense(m, item, of_m) : nullptr;
  for (int64_t k = 0; k < s.count; ++k) {
    CfcProblem p = *s.layers[k];
    p.B = B, p.T = 1, p.save = 0, p.need_ddt = 0, p.threads = 1, p.lengths = nullptr;
    p.x = from, p.x_row = p.D, p.x_step = 0;
    p.dt = s.dt ? dt.data : s.wide ? static_cast<const void*>(&s.every_dt) : &narrow_dt;
    p.dt_row = s.dt ? row_of(dt, B) : 0, p.dt_step = 0;
    p.h0 = h0 + k * bytes, p.hn = hn.data + k * bytes;
    if (remembers) p.m0 = m0 + k * bytes, p.mn = mn.data + k * bytes;
    p.y = y.data;
    if (const int code = lt_cfc_forward(&p, s.wide)) return code;
    from = static_cast<const char*>(p.hn);
  }
  return done;
}

}  // namespace

// One step of every layer: from state (layers,B,H) to the next state, and the output; a `Code`. If there are sources,
// the weights are first compared byte by byte with the packed ones.
LT_EXPORT int lt_cfc_step(const CfcStep* s) try {
  return s ? step(*s, s->now) : bad_problem;
} catch (...) {
  return no_memory;
}
