// Which target multiplies bf16 operands, and whether the instruction for them may be trusted.
#pragma once

#include "problem.h"

namespace liquidtime {

enum class Bf16Unit : int64_t { none = 0, trusted = 1, wrong = 2 };

// What this machine has for bf16 operands beside a target that only rounds: looked at once, when first asked.
Bf16Unit bf16_unit(const CfcTarget& rounding);

// The target that multiplies bf16 operands: one with the instruction for it where there is such and it may be trusted.
const CfcTarget& bf16_target(const CfcTarget& rounding);

}  // namespace liquidtime
