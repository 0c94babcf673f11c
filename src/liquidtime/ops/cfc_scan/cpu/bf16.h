// The target that multiplies bf16 operands, and whether the instruction for them can be trusted.
#pragma once

#include "problem.h"

namespace liquidtime {

enum class Bf16Unit : int64_t { none = 0, trusted = 1, wrong = 2 };

// What this machine has for bf16 operands besides a target that only rounds; determined once, at first use.
Bf16Unit bf16_unit(const CfcTarget& rounding);

// The target that multiplies bf16 operands: one with the instruction for it, if it exists and can be trusted.
const CfcTarget& bf16_target(const CfcTarget& rounding);

}  // namespace liquidtime
