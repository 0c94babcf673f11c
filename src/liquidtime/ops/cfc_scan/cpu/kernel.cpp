// The scan of the CfC family, forward and backward, for one build target. See README.md for the equations.
#include "../../native/parallel.h"
#include "backward.h"
#include "forward.h"
#include "products.h"

namespace LT_TARGET {
namespace {

template <class T> int64_t packed_size(const CfcProblem* p) {
  Parts<T> parts{nullptr};
  ForwardWeights<T>().lay_out(Sizes<T>(*p), parts);
  return parts.used * static_cast<int64_t>(sizeof(T));
}

template <class Op> void pack(const CfcProblem* p) {
  using T = typename Op::Number;
  const Sizes<T> s(*p);
  ForwardWeights<T> w;
  Parts<T> parts{static_cast<T*>(p->packed)};
  w.lay_out(s, parts);
  w.template fill<Op>(s);
}

// Numbers between what two threads work with: a processor that reads ahead of one must not take lines that the other writes.
template <class T> constexpr int64_t apart = 4096 / sizeof(T);

int64_t most_rows(const Rows& rows) {
  int64_t most = 0;
  for (int64_t g = 0; g < rows.count; ++g) most = rows.groups[g].rows > most ? rows.groups[g].rows : most;
  return most;
}

template <class Run> void one_worker(void* run, int64_t index) { static_cast<Run*>(run)->worker(index); }

template <class Op> int forward(const CfcProblem* p, const Rows* rows) {
  using T = typename Op::Number;
  ForwardRun<Op> run(*p, *rows);
  Parts<T> packed{nullptr}, own{nullptr};
  run.w.lay_out(run.s, packed);
  run.scratch(own, most_rows(*rows));
  run.worker_size = own.used + apart<T>;
  const int64_t shared = p->packed ? 0 : packed.used;
  const Room room((shared + p->threads * run.worker_size) * sizeof(T));
  if (!room.as<T>()) return 1;
  Parts<T> place{p->packed ? static_cast<T*>(p->packed) : room.as<T>()};
  run.w.lay_out(run.s, place);
  if (!p->packed) run.w.template fill<Op>(run.s);
  run.memory = room.as<T>() + shared;
  run_pieces(rows->team, p->threads, one_worker<ForwardRun<Op>>, &run);
  return 0;
}

template <class Op> int backward(const CfcProblem* p, const Rows* rows) {
  using T = typename Op::Number;
  BackwardRun<Op> run(*p, *rows);
  Parts<T> packed{nullptr}, own{nullptr};
  run.lay_out(packed);
  run.worker_on(own, most_rows(*rows));
  run.worker_size = own.used + apart<T>;
  const Room room((packed.used + p->threads * run.worker_size) * sizeof(T));
  if (!room.as<T>()) return 1;
  Parts<T> place{room.as<T>()};
  run.lay_out(place);
  run.fill();
  run.memory = room.as<T>() + packed.used;
  run_pieces(rows->team, p->threads, one_worker<BackwardRun<Op>>, &run);
  run.finish();
  return 0;
}

}  // namespace

extern const liquidtime::CfcTarget cfc_target;
#ifdef LT_PAIRS  // computations without bf16 operands run on another target
const liquidtime::CfcTarget cfc_target = {
    LT_BYTES,
    {nullptr, nullptr, packed_size<float>},
    {nullptr, nullptr, pack<Bf16>},
    {nullptr, nullptr, forward<Bf16>},
    {nullptr, nullptr, backward<Bf16>},
    bf16_product,
    bf16_outer,
};
#else
const liquidtime::CfcTarget cfc_target = {
    LT_BYTES,
    {packed_size<float>, packed_size<double>, packed_size<float>},
    {pack<Exact<float>>, pack<Exact<double>>, pack<Bf16>},
    {forward<Exact<float>>, forward<Exact<double>>, forward<Bf16>},
    {backward<Exact<float>>, backward<Exact<double>>, backward<Bf16>},
    bf16_product,
    bf16_outer,
};
#endif

}  // namespace LT_TARGET
