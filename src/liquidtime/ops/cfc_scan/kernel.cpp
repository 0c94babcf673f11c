// The scan of the CfC family, forward and backward, for one build target. See README.md for the equations.
#include "../native/parallel.h"
#include "backward.h"
#include "forward.h"

namespace LT_TARGET {
namespace {

template <class T> int64_t packed_size(const CfcProblem* p) {
  Parts<T> parts{nullptr};
  ForwardWeights<T>().lay_out(Sizes<T>(*p), parts);
  return parts.used * static_cast<int64_t>(sizeof(T));
}

template <class T> void pack(const CfcProblem* p) {
  const Sizes<T> s(*p);
  ForwardWeights<T> w;
  Parts<T> parts{static_cast<T*>(p->packed)};
  w.lay_out(s, parts);
  w.fill(s);
}

int64_t most_rows(const Rows& rows) {
  int64_t most = 0;
  for (int64_t g = 0; g < rows.count; ++g) most = rows.groups[g].rows > most ? rows.groups[g].rows : most;
  return most;
}

template <class Run> void one_worker(void* run, int64_t index) { static_cast<Run*>(run)->worker(index); }

template <class T> int forward(const CfcProblem* p, const Rows* rows) {
  ForwardRun<T> run(*p, *rows);
  Parts<T> packed{nullptr}, own{nullptr};
  run.w.lay_out(run.s, packed);
  run.scratch(own, most_rows(*rows));
  run.worker_size = own.used;
  const int64_t shared = p->packed ? 0 : packed.used;
  const Room room((shared + p->threads * own.used) * sizeof(T));
  if (!room.as<T>()) return 1;
  Parts<T> place{p->packed ? static_cast<T*>(p->packed) : room.as<T>()};
  run.w.lay_out(run.s, place);
  if (!p->packed) run.w.fill(run.s);
  run.memory = room.as<T>() + shared;
  run_pieces(p->threads, p->threads, one_worker<ForwardRun<T>>, &run);
  return 0;
}

template <class T> int backward(const CfcProblem* p, const Rows* rows) {
  BackwardRun<T> run(*p, *rows);
  Parts<T> packed{nullptr}, own{nullptr};
  run.lay_out(packed);
  run.worker_on(own, most_rows(*rows));
  run.worker_size = own.used;
  const Room room((packed.used + p->threads * own.used) * sizeof(T));
  if (!room.as<T>()) return 1;
  Parts<T> place{room.as<T>()};
  run.lay_out(place);
  run.fill();
  run.memory = room.as<T>() + packed.used;
  run_pieces(p->threads, p->threads, one_worker<BackwardRun<T>>, &run);
  run.finish();
  return 0;
}

}  // namespace

extern const liquidtime::CfcTarget cfc_target;
const liquidtime::CfcTarget cfc_target = {
    LT_BYTES, {packed_size<float>, packed_size<double>}, {pack<float>, pack<double>}, {forward<float>, forward<double>},
    {backward<float>, backward<double>},
};

}  // namespace LT_TARGET
