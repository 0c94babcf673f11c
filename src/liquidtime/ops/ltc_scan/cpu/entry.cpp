// The C boundary of the scan: refuses invalid problems, divides the batch and calls the kernel of the build target.
#include <algorithm>
#include <vector>

#include "../../native/boundary.h"
#include "../../native/division.h"
#include "../../native/targets.h"
#include "problem.h"

#ifdef LT_X86
namespace avx512 {
extern const liquidtime::LtcTarget ltc_target;
}
namespace avx2 {
extern const liquidtime::LtcTarget ltc_target;
}
#endif
namespace baseline {
extern const liquidtime::LtcTarget ltc_target;
}

namespace {

using namespace liquidtime;

const LtcTarget* const targets[target_count] = {
#ifdef LT_X86
    &avx512::ltc_target,
    &avx2::ltc_target,
#endif
    &baseline::ltc_target,
};

// Whether synapses from `from` neurons to `to` neurons are a sorted list with valid indices.
bool good_synapses(const Synapses& y, int64_t from, int64_t to) {
  if (y.count < 0 || !y.first || y.first[0] != 0 || y.first[to] != y.count) return false;
  if (y.count && (!y.pre || !y.w || !y.gamma || !y.mu || !y.E)) return false;
  bool good = true;
  for (int64_t j = 0; j < to; ++j) good &= y.first[j] <= y.first[j + 1];
  for (int64_t k = 0; k < y.count; ++k) good &= y.pre[k] >= 0 && y.pre[k] < from;
  return good;
}

bool good_gradients(const Synapses& y) { return !y.count || (y.dw && y.dgamma && y.dmu && y.dE); }

Code check(const LtcProblem& p, int64_t wide) {
  const bool any = p.B > 0, steps = any && p.T > 0;
  if (wide < 0 || wide > 1 || p.B < 0 || p.T < 0 || p.D < 1 || p.H < 1 || p.unfolds < 1 || p.threads < 1)
    return bad_problem;
  if (p.solver < semi_implicit || p.solver > midpoint || !p.leak || !p.leak_current || !p.capacitance) return bad_problem;
  if ((any && !p.v0) || (steps && (!p.x || !p.dt))) return bad_problem;
  if (!good_synapses(p.sensory, p.D, p.H) || !good_synapses(p.recurrent, p.H, p.H)) return bad_problem;
  return good_lengths(p.B, p.T, p.lengths) ? done : bad_length;
}

Code check_forward(const LtcProblem& p, int64_t wide) {
  if (const Code code = check(p, wide)) return code;
  if (p.B && (!p.vn || (p.T && (!p.y || (p.save && !p.states))))) return bad_problem;
  const auto good = wide ? good_intervals<double> : good_intervals<float>;
  return good(p.B, p.T, p.lengths, p.dt, p.dt_row, p.dt_step) ? done : bad_interval;
}

Code check_backward(const LtcProblem& p, int64_t wide) {
  if (const Code code = check(p, wide)) return code;
  if (!good_gradients(p.sensory) || !good_gradients(p.recurrent)) return bad_problem;
  if (!p.dleak || !p.dleak_current || !p.dcapacitance || (p.B && !p.dv0)) return bad_problem;
  if (p.B && p.T && (!p.states || (p.need_dx && !p.dx) || (p.need_ddt && !p.ddt))) return bad_problem;
  return done;
}

double work_of(const LtcProblem& p) {
  const double readings = static_cast<double>(p.sensory.count) +
                          static_cast<double>(p.unfolds * stage_counts[p.solver]) * static_cast<double>(p.recurrent.count);
  return 16 * readings;  // a synapse costs about as much as 16 multiply-adds
}

int run(const LtcProblem* p, int (*kernel)(const LtcProblem*, const int64_t*)) try {
  const auto order = by_length(p->B, p->lengths);  // independent of the number of threads, so that sums do not depend on it
  LtcProblem local = *p;
  local.threads = team_of(p->threads, static_cast<double>(samples_of(p->B, p->T, p->lengths)) * work_of(*p));
  return kernel(&local, order.data());
} catch (...) {
  return no_memory;
}

}  // namespace

LT_EXPORT int64_t lt_ltc_problem_size() { return sizeof(LtcProblem); }
// Cost of a sample in multiply-adds, from which the number of threads is chosen.
LT_EXPORT double lt_ltc_work(const LtcProblem* p) {
  return p && p->solver >= semi_implicit && p->solver <= midpoint ? work_of(*p) : 0;
}

// These return a `Code`.
LT_EXPORT int lt_ltc_forward(const LtcProblem* p, int64_t wide) {
  if (!p) return bad_problem;
  if (const Code code = check_forward(*p, wide)) return code;
  return run(p, targets[current_target()]->forward[wide]);
}
LT_EXPORT int lt_ltc_backward(const LtcProblem* p, int64_t wide) {
  if (!p) return bad_problem;
  if (const Code code = check_backward(*p, wide)) return code;
  return run(p, targets[current_target()]->backward[wide]);
}
