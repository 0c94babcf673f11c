#include "bf16.h"

#include <vector>

#ifdef LT_WITH_PAIRS
namespace pairs {
extern const liquidtime::CfcTarget cfc_target;
}
#endif

namespace liquidtime {
namespace {

#ifdef LT_WITH_PAIRS

bool has_instruction() {
#ifdef LT_X86
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512bf16");
#else
  return true;  // otherwise the same pairs are multiplied by plain instructions, as under sanitizers
#endif
}

// Numbers m/32 with 32 < |m| < 64, changed by less than half of a bf16's last place, which rounding removes. Products
// of two are multiples of 2⁻¹⁰ below 4, so that sums of a thousand are exact in float32 in every order.
std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> made(count);
  for (float& number : made) {
    seed = seed * 1664525u + 1013904223u;
    const float moved = (static_cast<float>(seed >> 8 & 255) - 127.5f) / 300.0f;
    number = (seed >> 31 ? -1.0f : 1.0f) * (static_cast<float>(33 + (seed >> 16) % 31) / 32.0f + moved / 128.0f);
  }
  return made;
}

// Odd sizes: full and partial tiles of rows, one and two vectors, an odd number of terms, and more terms than in a
// block.
bool agree(const CfcTarget& one, const CfcTarget& other) try {
  const int64_t rows = 13, units = 40, K = 601, samples = 21, width = 37;
  const std::vector<float> a = numbers(rows * K, 1), w = numbers(units * K, 2);
  const std::vector<float> upper = numbers(samples * units, 3), lower = numbers(samples * width, 4);
  std::vector<float> c(rows * units), c_other(c), g(units * (width + 1)), g_other(g);
  if (one.product(rows, K, units, a.data(), w.data(), c.data()) ||
      other.product(rows, K, units, a.data(), w.data(), c_other.data()) ||
      one.outer(samples, units, width, upper.data(), lower.data(), g.data()) ||
      other.outer(samples, units, width, upper.data(), lower.data(), g_other.data()))
    return false;
  return c == c_other && g == g_other;
} catch (...) {
  return false;
}

#endif

}  // namespace

Bf16Unit bf16_unit(const CfcTarget& rounding) {
#ifdef LT_WITH_PAIRS
  if (rounding.bytes != pairs::cfc_target.bytes) return Bf16Unit::none;
  static const Bf16Unit found = [&] {
    if (!has_instruction()) return Bf16Unit::none;
    return agree(rounding, pairs::cfc_target) ? Bf16Unit::trusted : Bf16Unit::wrong;
  }();
  return found;
#else
  (void)rounding;
  return Bf16Unit::none;
#endif
}

const CfcTarget& bf16_target(const CfcTarget& rounding) {
#ifdef LT_WITH_PAIRS
  if (bf16_unit(rounding) == Bf16Unit::trusted) return pairs::cfc_target;
#endif
  return rounding;
}

}  // namespace liquidtime
