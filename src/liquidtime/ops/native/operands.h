// Forms of the operands of a product: unchanged, rounded to bf16 but stored as float32, or as pairs of bf16 for the
// instruction that multiplies and adds two at once. Sums are float32 in all cases.
#pragma once

#include "simd.h"

namespace LT_TARGET {

typedef uint32_t Bits __attribute__((vector_size(LT_BYTES)));
typedef uint16_t Halves __attribute__((vector_size(LT_BYTES / 2)));

// The nearest bf16 of each number, ties to even, in the upper half of its bits. NaN stays NaN.
LT_INLINE Bits nearest_bf16(Vec<float> v) {
  const Bits bits = (Bits)v, rounded = bits + 0x7fff + (bits >> 16 & 1), quiet = bits | 0x400000;
  return (v == v ? rounded : quiet) & 0xffff0000;
}

template <class T> struct Exact {
  using Number = T;
  static constexpr bool converts = false;

  LT_INLINE Vec<T> spread(const T* a) { return splat<T>(*a); }
  LT_INLINE Vec<T> add(Vec<T> sum, Vec<T> a, Vec<T> b) { return sum + a * b; }
};

struct Rounded : Exact<float> {
  static constexpr bool converts = true;

  // Number of terms of a sum over n products.
  LT_INLINE int64_t terms(int64_t n) { return n; }

  // Convert the n numbers of a row to operands.
  LT_INLINE void row(float* to, const float* from, int64_t n) {
    for (int64_t k = 0; k < n; k += lanes<float>)
      store_first<float>(to + k, (Vec<float>)nearest_bf16(load_first<float>(from + k, n - k)), n - k);
  }

  // Convert the rows of a matrix (n, width), over which is summed, to operands in place.
  LT_INLINE void fold(float* rows, int64_t n, int64_t width) { row(rows, rows, n * width); }
};

// A term consists of two neighbours of a sum in the place of one number, the first in the lower half of the bits.
struct Paired {
  using Number = float;
  static constexpr bool converts = true;

  LT_INLINE int64_t terms(int64_t n) { return (n + 1) / 2; }

  LT_INLINE void row(float* to, const float* from, int64_t n) {
    const int64_t even = n + n % 2;
    for (int64_t k = 0; k < n; k += lanes<float>) {
      const Halves halves = __builtin_convertvector(nearest_bf16(load_first<float>(from + k, n - k)) >> 16, Halves);
      const int64_t count = even - k < lanes<float> ? even - k : lanes<float>;
      std::memcpy(reinterpret_cast<char*>(to) + 2 * k, &halves, 2 * count);
    }
  }

  LT_INLINE void fold(float* rows, int64_t n, int64_t width) {
    for (int64_t k = 0; k < n; k += 2)
      for (int64_t j = 0; j < width; j += lanes<float>) {
        const float* from = rows + k * width + j;
        const Bits first = nearest_bf16(load_first<float>(from, width - j));
        const Bits second = k + 1 < n ? nearest_bf16(load_first<float>(from + width, width - j)) : Bits{};
        store_first<float>(rows + k / 2 * width + j, (Vec<float>)(first >> 16 | second), width - j);
      }
  }

  LT_INLINE Vec<float> spread(const float* a) {
    uint32_t pair;
    std::memcpy(&pair, a, sizeof pair);
    return (Vec<float>)(Bits{} + pair);
  }

  LT_INLINE Vec<float> add(Vec<float> sum, Vec<float> a, Vec<float> b) {
#ifdef __AVX512BF16__
    return (Vec<float>)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
#else
    sum += (Vec<float>)((Bits)a & 0xffff0000) * (Vec<float>)((Bits)b & 0xffff0000);
    return sum + (Vec<float>)((Bits)a << 16) * (Vec<float>)((Bits)b << 16);
#endif
  }
};

#ifdef LT_PAIRS
using Bf16 = Paired;
#else
using Bf16 = Rounded;
#endif

}  // namespace LT_TARGET
