// The activations of backbones and heads, and their derivatives.
#pragma once

#include "../../native/simd.h"
#include "problem.h"

namespace LT_TARGET {
namespace {

using namespace liquidtime;

template <Activation kind, class T> LT_INLINE Vec<T> activate(Vec<T> v) {
  switch (kind) {
    case relu: return pick<T>(v > 0, v, pick<T>(v <= 0, Vec<T>{}, v));
    case silu: return v * vsigmoid<T>(v);
    case gelu: return v * (verf<T>(v * T(0.70710678118654752440)) + 1) * T(0.5);
    case tanh_: return vtanh<T>(v);
    default: return vtanh<T>(v * T(0.666)) * T(1.7159);
  }
}

// The derivative of an activation, from its result (z) or, for silu and gelu, from its argument (pre).
template <Activation kind, class T> LT_INLINE Vec<T> slope(Vec<T> z, Vec<T> pre) {
  switch (kind) {
    case relu: return pick<T>(z > 0, splat<T>(1), Vec<T>{});
    case silu: {
      const Vec<T> s = vsigmoid<T>(pre);
      return s * (1 + pre * (1 - s));
    }
    case gelu: {
      const Vec<T> below = (verf<T>(pre * T(0.70710678118654752440)) + 1) * T(0.5);
      return below + pre * vexp<T>(pre * pre * T(-0.5)) * T(0.39894228040143267794);
    }
    case tanh_: return 1 - z * z;
    default: {
      const Vec<T> t = z * T(1 / 1.7159);
      return (1 - t * t) * T(1.7159 * 0.666);
    }
  }
}

constexpr bool slope_needs_input(int64_t kind) { return kind == silu || kind == gelu; }

// A number that is known when a loop is compiled, so that nothing is decided inside the loop.
template <int64_t value> struct Fixed {
  static constexpr int64_t is = value;
};

// Call run(Fixed<kind>) for an activation that is known only at run time.
template <class F> LT_INLINE void with_activation(int64_t kind, F run) {
  switch (kind) {
    case relu: return run(Fixed<relu>{});
    case silu: return run(Fixed<silu>{});
    case gelu: return run(Fixed<gelu>{});
    case tanh_: return run(Fixed<tanh_>{});
    default: return run(Fixed<lecun_tanh>{});
  }
}

// Call run(kind, heads, head's activation) in the same way for the computation of the new state from the heads.
template <class F> LT_INLINE void with_kind(const CfcProblem& p, F run) {
  const bool plain = p.head_activation == tanh_;
  auto gates = [&](auto kind) {
    if (p.heads == 4)
      plain ? run(kind, Fixed<4>{}, Fixed<tanh_>{}) : run(kind, Fixed<4>{}, Fixed<lecun_tanh>{});
    else
      plain ? run(kind, Fixed<3>{}, Fixed<tanh_>{}) : run(kind, Fixed<3>{}, Fixed<lecun_tanh>{});
  };
  switch (p.kind) {
    case gated: return gates(Fixed<gated>{});
    case no_gate: return gates(Fixed<no_gate>{});
    case cf_s: return run(Fixed<cf_s>{}, Fixed<1>{}, Fixed<tanh_>{});
    default: return run(Fixed<cf_s_paper>{}, Fixed<1>{}, Fixed<tanh_>{});
  }
}

}  // namespace
}  // namespace LT_TARGET
