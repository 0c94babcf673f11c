// Vectors of one width per build target, with exp, tanh and sigmoid.
//
// A file that includes this is compiled once for each target with LT_TARGET (a namespace) and LT_BYTES (the width of a
// vector register). Nothing here may be shared between targets, so everything lives in that namespace.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define LT_INLINE static inline __attribute__((always_inline))
#define LT_MEMBER inline __attribute__((always_inline))

namespace LT_TARGET {

template <class T> struct Lane;

template <> struct Lane<float> {
  typedef float V __attribute__((vector_size(LT_BYTES)));
  typedef int32_t I __attribute__((vector_size(LT_BYTES)));
  typedef float Loose __attribute__((vector_size(LT_BYTES), aligned(4), may_alias));
  static constexpr int mantissa = 23;
  static constexpr int32_t one_bits = 0x3f800000;
  static constexpr float magic = 12582912.0f;  // 1.5·2^23: adding it rounds to a whole number
  static constexpr float ln2_hi = 0.693359375f, ln2_lo = -2.12194440e-4f;
  static constexpr float exp_limit = 87.0f, tanh_limit = 20.0f;
  static constexpr int terms = 7;
};

template <> struct Lane<double> {
  typedef double V __attribute__((vector_size(LT_BYTES)));
  typedef int64_t I __attribute__((vector_size(LT_BYTES)));
  typedef double Loose __attribute__((vector_size(LT_BYTES), aligned(8), may_alias));
  static constexpr int mantissa = 52;
  static constexpr int64_t one_bits = 0x3ff0000000000000;
  static constexpr double magic = 6755399441055744.0;  // 1.5·2^52
  static constexpr double ln2_hi = 6.93145751953125e-1, ln2_lo = 1.42860682030941723212e-6;
  static constexpr double exp_limit = 708.0, tanh_limit = 44.0;
  static constexpr int terms = 14;
};

template <class T> using Vec = typename Lane<T>::V;
template <class T> constexpr int64_t lanes = LT_BYTES / sizeof(T);

template <class T> LT_INLINE Vec<T> load(const T* p) { return (Vec<T>)*reinterpret_cast<const typename Lane<T>::Loose*>(p); }
template <class T> LT_INLINE void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename Lane<T>::Loose*>(p) = (typename Lane<T>::Loose)v;
}
// Store to memory that is needed much later, past the caches if possible; p is aligned to a whole vector. Call
// `streamed` before another thread may read it.
#ifdef __SSE2__
LT_INLINE void stream_bits(void* p, Lane<float>::I v) {
#if LT_BYTES == 64 && defined(__AVX512F__)
  _mm512_stream_si512(static_cast<__m512i*>(p), (__m512i)v);
#elif LT_BYTES == 32 && defined(__AVX__)
  _mm256_stream_si256(static_cast<__m256i*>(p), (__m256i)v);
#elif LT_BYTES == 16
  _mm_stream_si128(static_cast<__m128i*>(p), (__m128i)v);
#else
  std::memcpy(p, &v, sizeof v);
#endif
}
template <class T> LT_INLINE void stream(T* p, Vec<T> v) { stream_bits(p, (Lane<float>::I)v); }
LT_INLINE void streamed() { _mm_sfence(); }
#else
template <class T> LT_INLINE void stream(T* p, Vec<T> v) { store<T>(p, v); }
LT_INLINE void streamed() {}
#endif

// Prefetch the line at p, which will be read soon; p may be any address.
LT_INLINE void prefetch(const void* p) { __builtin_prefetch(p); }

template <class T> LT_INLINE Vec<T> splat(T s) { return s - Vec<T>{}; }

// Load the first n lanes from p; the others are 0.
template <class T> LT_INLINE Vec<T> load_first(const T* p, int64_t n) {
  if (n >= lanes<T>) return load<T>(p);
  Vec<T> v{};
  if (n > 0) std::memcpy(&v, p, n * sizeof(T));
  return v;
}
template <class T> LT_INLINE void store_first(T* p, Vec<T> v, int64_t n) {
  if (n >= lanes<T>) return store<T>(p, v);
  if (n > 0) std::memcpy(p, &v, n * sizeof(T));
}

template <class T> LT_INLINE Vec<T> pick(typename Lane<T>::I yes, Vec<T> a, Vec<T> b) { return yes ? a : b; }
template <class T> LT_INLINE Vec<T> absolute(Vec<T> x) { return pick<T>(x < 0, -x, x); }

// The smaller (larger) of two; b if one is NaN. The compiler does not generate the instruction from a comparison.
#if LT_BYTES == 64 && defined(__AVX512F__)
// Masked intrinsics with all lanes active: GCC 12 warns about the others.
LT_INLINE Vec<float> smaller(Vec<float> a, Vec<float> b) {
  return (Vec<float>)_mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b);
}
LT_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) {
  return (Vec<float>)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
}
LT_INLINE Vec<double> smaller(Vec<double> a, Vec<double> b) {
  return (Vec<double>)_mm512_maskz_min_pd(0xff, (__m512d)a, (__m512d)b);
}
LT_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) {
  return (Vec<double>)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
}
#elif LT_BYTES == 32 && defined(__AVX__)
LT_INLINE Vec<float> smaller(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm256_min_ps((__m256)a, (__m256)b); }
LT_INLINE Vec<float> larger(Vec<float> a, Vec<float> b) { return (Vec<float>)_mm256_max_ps((__m256)a, (__m256)b); }
LT_INLINE Vec<double> smaller(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm256_min_pd((__m256d)a, (__m256d)b); }
LT_INLINE Vec<double> larger(Vec<double> a, Vec<double> b) { return (Vec<double>)_mm256_max_pd((__m256d)a, (__m256d)b); }
#else
template <class V> LT_INLINE V smaller(V a, V b) { return a < b ? a : b; }
template <class V> LT_INLINE V larger(V a, V b) { return a > b ? a : b; }
#endif

// NaN passes through.
template <class T> LT_INLINE Vec<T> clamp(Vec<T> x, T limit) {
  return larger(splat<T>(-limit), smaller(splat<T>(limit), x));
}

// 1/k! for the Taylor polynomial of expm1 on |r| <= ln(2)/2, whose next term is below half an ulp.
template <class T> struct Factorials {
  T inverse[Lane<T>::terms + 1];
  constexpr Factorials() : inverse() {
    double f = 1.0;
    for (int k = 0; k <= Lane<T>::terms; ++k) {
      if (k > 0) f *= k;
      inverse[k] = static_cast<T>(1.0 / f);
    }
  }
};

// exp(x) = s + s·p and expm1(x) = (s - 1) + s·p, with s a power of two.
template <class T> LT_INLINE void exp_parts(Vec<T> x, Vec<T>& s, Vec<T>& p) {
  using L = Lane<T>;
  constexpr Factorials<T> c;
  Vec<T> shifted = x * static_cast<T>(1.4426950408889634074) + L::magic;
  typename L::I bits = (typename L::I)shifted;
  Vec<T> n = shifted - L::magic;
  Vec<T> r = (x - n * L::ln2_hi) - n * L::ln2_lo;
  Vec<T> q = splat<T>(c.inverse[L::terms]);
#pragma GCC unroll 16
  for (int k = L::terms - 1; k >= 2; --k) q = q * r + c.inverse[k];
  p = r * r * q + r;
  s = (Vec<T>)((bits << L::mantissa) + L::one_bits);
}

template <class T> LT_INLINE Vec<T> vexp(Vec<T> x) {
  Vec<T> s, p;
  exp_parts<T>(clamp<T>(x, Lane<T>::exp_limit), s, p);
  return s + s * p;
}

template <class T> LT_INLINE Vec<T> vtanh(Vec<T> x) {
  Vec<T> s, p;
  exp_parts<T>(clamp<T>(x + x, Lane<T>::tanh_limit), s, p);
  Vec<T> t = (s - 1) + s * p;
  return t / (t + 2);
}

template <class T> LT_INLINE Vec<T> vsigmoid(Vec<T> x) { return 1 / (1 + vexp<T>(-x)); }

// 2^r for |r| <= 1/2: for float, the polynomial through 1 with the smallest maximum relative error, 9e-8; for double,
// the Taylor series.
template <class T> struct Powers;
template <> struct Powers<float> {
  static constexpr int degree = 5;
  static constexpr float limit = 125.0f;
  float terms[degree + 1] = {1.0f, 0.69314698f, 0.24022242f, 0.055507337f, 0.0096715127f, 0.0013264727f};
};
template <> struct Powers<double> {
  static constexpr int degree = 13;
  static constexpr double limit = 1020.0;
  double terms[degree + 1];
  constexpr Powers() : terms() {
    terms[0] = 1;
    for (int k = 1; k <= degree; ++k) terms[k] = terms[k - 1] * 0.693147180559945309417 / k;
  }
};

template <class T> LT_INLINE Vec<T> power(Vec<T> r) {
  constexpr Powers<T> c;
  Vec<T> q = splat<T>(c.terms[Powers<T>::degree]);
#pragma GCC unroll 16
  for (int k = Powers<T>::degree - 1; k >= 0; --k) q = q * r + c.terms[k];
  return q;
}

// 1 / (1 + 2^t), which is σ(x) at t = -x·log2(e). NaN passes through.
template <class T> LT_INLINE Vec<T> vopening(Vec<T> t) {
  using L = Lane<T>;
  t = clamp<T>(t, Powers<T>::limit);
  const Vec<T> shifted = t + L::magic, n = shifted - L::magic;
  const Vec<T> s = (Vec<T>)(((typename L::I)shifted << L::mantissa) + L::one_bits);  // 2^n
  return 1 / (1 + power<T>(t - n) * s);
}
#if LT_BYTES == 64 && defined(__AVX512DQ__)
// The same with instructions that split a number and that multiply by powers of two; they also handle infinity.
template <> LT_MEMBER Vec<float> vopening<float>(Vec<float> t) {
  const __m512 n = _mm512_maskz_roundscale_ps(0xffff, (__m512)t, 0), r = _mm512_maskz_reduce_ps(0xffff, (__m512)t, 0);
  return 1 / (1 + (Vec<float>)_mm512_maskz_scalef_ps(0xffff, (__m512)power<float>((Vec<float>)r), n));
}
#endif

LT_INLINE float scalar_erf(float x) { return ::erff(x); }
LT_INLINE double scalar_erf(double x) { return ::erf(x); }

template <class T> LT_INLINE Vec<T> verf(Vec<T> x) {
  for (int64_t k = 0; k < lanes<T>; ++k) x[k] = scalar_erf(x[k]);
  return x;
}

template <class T> LT_INLINE T sum(Vec<T> v) {
  T total = 0;
  for (int64_t k = 0; k < lanes<T>; ++k) total += v[k];
  return total;
}

// Add the sums over the lanes of four vectors to four adjacent numbers.
template <class T> LT_INLINE void add_sums(T* to, Vec<T> a, Vec<T> b, Vec<T> c, Vec<T> d) {
  to[0] += sum<T>(a), to[1] += sum<T>(b), to[2] += sum<T>(c), to[3] += sum<T>(d);
}
#if LT_BYTES == 64 && defined(__AVX512F__)
template <> LT_MEMBER void add_sums<float>(float* to, Vec<float> a, Vec<float> b, Vec<float> c, Vec<float> d) {
  const auto mixed = [](Vec<float> x, Vec<float> y) {
    return (__m512d)((Vec<float>)_mm512_maskz_unpacklo_ps(0xffff, (__m512)x, (__m512)y) +
                     (Vec<float>)_mm512_maskz_unpackhi_ps(0xffff, (__m512)x, (__m512)y));
  };
  const __m512d ab = mixed(a, b), cd = mixed(c, d);
  const __m512d all = (__m512d)((Vec<float>)_mm512_maskz_unpacklo_pd(0xff, ab, cd) +
                                (Vec<float>)_mm512_maskz_unpackhi_pd(0xff, ab, cd));  // a, b, c, d in every quarter
  const __m256 half = _mm256_add_ps((__m256)_mm512_maskz_extractf64x4_pd(0xff, all, 0),
                                    (__m256)_mm512_maskz_extractf64x4_pd(0xff, all, 1));
  const __m128 whole = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), whole));
}
#elif LT_BYTES == 32 && defined(__AVX__)
template <> LT_MEMBER void add_sums<float>(float* to, Vec<float> a, Vec<float> b, Vec<float> c, Vec<float> d) {
  const __m256 ab = _mm256_hadd_ps((__m256)a, (__m256)b), cd = _mm256_hadd_ps((__m256)c, (__m256)d);
  const __m256 all = _mm256_hadd_ps(ab, cd);
  const __m128 whole = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
  _mm_storeu_ps(to, _mm_add_ps(_mm_loadu_ps(to), whole));
}
#endif

}  // namespace LT_TARGET
