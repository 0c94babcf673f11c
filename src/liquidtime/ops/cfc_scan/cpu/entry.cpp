// The C boundary of the scan: refuses invalid problems, divides the batch and calls the kernel of the build target.
#include <algorithm>
#include <cstring>

#include "../../native/boundary.h"
#include "../../native/division.h"
#include "../../native/targets.h"
#include "bf16.h"
#include "problem.h"

#ifdef LT_X86
namespace avx512 {
extern const liquidtime::CfcTarget cfc_target;
}
namespace avx2 {
extern const liquidtime::CfcTarget cfc_target;
}
#endif
namespace baseline {
extern const liquidtime::CfcTarget cfc_target;
}

namespace {

using namespace liquidtime;

const CfcTarget* const targets[target_count] = {
#ifdef LT_X86
    &avx512::cfc_target,
    &avx2::cfc_target,
#endif
    &baseline::cfc_target,
};

const CfcTarget& current() { return *targets[current_target()]; }

// The target that computes a problem, and the position of its functions.
const CfcTarget& target_of(const CfcProblem& p) { return p.bf16 ? bf16_target(current()) : current(); }
int64_t place_of(const CfcProblem& p, int64_t wide) { return p.bf16 ? 2 : wide; }

bool among(int64_t value, int64_t first, int64_t last) { return value >= first && value <= last; }

// Whether a kernel supports the equations, and their weights are present.
bool good_form(const CfcProblem& p, int64_t wide) {
  const bool headed = p.kind == gated || p.kind == no_gate;
  if (!among(wide, 0, 1) || (p.bf16 && wide) || !among(p.kind, gated, cf_s_paper) || !among(p.layers, 0, max_layers))
    return false;
  if (p.D < 1 || p.H < 1 || (p.layers && p.U < 1) || !(headed ? among(p.heads, 3, 4) : p.heads == 1)) return false;
  if (!among(p.activation, relu, lecun_tanh) || !among(p.head_activation, tanh_, lecun_tanh)) return false;
  if (!among(p.memory, none, input)) return false;
  for (int64_t k = 0; k <= p.layers + (p.memory != none); ++k)
    if (!p.weight[k] || !p.bias[k]) return false;
  return headed || (p.A && p.rate && (p.B_ || p.kind == cf_s || p.state_amplitude));
}

// Whether the data that both runs read and write are present.
bool good_rows(const CfcProblem& p) {
  const bool any = p.B > 0, steps = any && p.T > 0, remembers = p.memory != none;
  if (p.B < 0 || p.T < 0 || p.threads < 1) return false;
  if (any && (!p.h0 || (remembers && !p.m0))) return false;
  return !steps || (p.x && p.dt && p.y);
}

// Whether there is memory for the data that a forward run saves for a backward run.
bool good_room(const CfcProblem& p) {
  if (!p.B || !p.T) return true;
  const bool with_input = p.activation == silu || p.activation == gelu;
  for (int64_t k = 0; k < p.layers; ++k)
    if (!p.z[k] || (with_input && !p.pre[k])) return false;
  return p.gates && p.division && (p.memory == none || (p.lstm_gates && p.lstm_o && p.lstm_m));
}

// The number of groups that a forward run left; 0 where it left none.
int64_t division_of(const CfcProblem& p) {
  int64_t count = 0;
  if (p.B && p.T) std::memcpy(&count, p.division, sizeof count);
  return count;
}

Code check_forward(const CfcProblem& p, int64_t wide) {
  if (!good_form(p, wide) || !good_rows(p) || (p.save && !good_room(p))) return bad_problem;
  if (p.B && (!p.hn || (p.memory != none && !p.mn))) return bad_problem;
  if (!good_lengths(p.B, p.T, p.lengths)) return bad_length;
  const auto good = wide ? good_intervals<double> : good_intervals<float>;
  return good(p.B, p.T, p.lengths, p.dt, p.dt_row, p.dt_step) ? done : bad_interval;
}

Code check_backward(const CfcProblem& p, int64_t wide) {
  if (!good_form(p, wide) || !good_rows(p) || !good_room(p)) return bad_problem;
  if (p.B && p.T && ((p.need_dx && !p.dx) || (p.need_ddt && !p.ddt) || !among(division_of(p), 1, p.B))) return bad_problem;
  for (int64_t k = 0; k <= p.layers + (p.memory != none); ++k)
    if (!p.dweight[k] || !p.dbias[k]) return bad_problem;
  if (p.kind >= cf_s && (!p.dA || !p.drate || (p.kind == cf_s_paper && !p.state_amplitude && !p.dB))) return bad_problem;
  return good_lengths(p.B, p.T, p.lengths) ? done : bad_length;
}

double work_of(const CfcProblem& p) {
  const double H = p.H, U = p.U, D = p.memory == input ? p.H : p.D, L = p.layers, heads = p.heads;
  double work = p.layers ? (D + H) * U + (L - 1) * U * U + heads * H * U : heads * H * (D + H);
  if (p.kind == cf_s_paper) work *= 2;
  if (p.memory != none) work += 4 * H * (p.D + H);
  return work;
}

// Run a kernel on the batch in groups, as many as `given`, or as are best if that is 0.
int run(const CfcProblem* p, int64_t given, int (*kernel)(const CfcProblem*, const Rows*)) try {
  const auto leave = [&](int64_t count) {
    if (!given && p->save && p->B && p->T) std::memcpy(p->division, &count, sizeof count);
  };
  if (p->B == 1 && !p->lengths) {  // for single samples, without the heap
    const int64_t order[1] = {0};
    const Group group{1, 0, 0, nullptr};
    const Rows rows{&group, 1, order, nullptr, p->T, 1};
    CfcProblem local = *p;
    local.threads = 1;
    leave(1);
    return kernel(&local, &rows);
  }
  Division division(p->B, p->T, p->lengths, p->threads, work_of(*p), given);
  leave(division.rows.count);
  CfcProblem local = *p;
  local.threads = std::max<int64_t>(1, std::min<int64_t>(division.threads, division.rows.count));
  return kernel(&local, &division.rows);
} catch (...) {
  return no_memory;
}

}  // namespace

LT_EXPORT int64_t lt_vector_bytes() { return current().bytes; }
LT_EXPORT int64_t lt_cfc_problem_size() { return sizeof(CfcProblem); }

// Number of bytes of the packed weights of a problem; 0 if the problem is invalid.
LT_EXPORT int64_t lt_cfc_packed_size(const CfcProblem* p, int64_t wide) {
  return p && good_form(*p, wide) ? target_of(*p).packed_size[place_of(*p, wide)](p) : 0;
}
LT_EXPORT int lt_cfc_pack(const CfcProblem* p, int64_t wide) {
  if (!p || !p->packed || !good_form(*p, wide)) return bad_problem;
  target_of(*p).pack[place_of(*p, wide)](p);
  return done;
}

// These return a `Code`.
LT_EXPORT int lt_cfc_forward(const CfcProblem* p, int64_t wide) {
  if (!p) return bad_problem;
  if (const Code code = check_forward(*p, wide)) return code;
  return run(p, 0, target_of(*p).forward[place_of(*p, wide)]);
}
LT_EXPORT int lt_cfc_backward(const CfcProblem* p, int64_t wide) {
  if (!p) return bad_problem;
  if (const Code code = check_backward(*p, wide)) return code;
  return run(p, division_of(*p), target_of(*p).backward[place_of(*p, wide)]);
}

// 0 if bf16 operands are rounded numbers, 1 if there is an instruction for them, 2 if that cannot be trusted.
LT_EXPORT int64_t lt_bf16_unit() { return static_cast<int64_t>(bf16_unit(current())); }
// Separate products with bf16 operands (products.h), for the test of the instruction and other tests.
LT_EXPORT int lt_bf16_product(int64_t rows, int64_t K, int64_t units, const float* a, const float* w, float* c) {
  if (rows < 1 || K < 1 || units < 1 || !a || !w || !c) return bad_problem;
  return bf16_target(current()).product(rows, K, units, a, w, c);
}
LT_EXPORT int lt_bf16_outer(int64_t samples, int64_t units, int64_t width, const float* upper, const float* lower,
                            float* g) {
  if (samples < 1 || units < 1 || width < 1 || !upper || !lower || !g) return bad_problem;
  return bf16_target(current()).outer(samples, units, width, upper, lower, g);
}
