"""The exact solution of the scalar LTC equation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from liquidtime.theory.activity import (
    Array,
    Nonlinearity,
    Signal,
    activity,
    as_numbers,
    as_times,
    input_at,
    sigmoid,
)
from liquidtime.theory.piecewise import PiecewiseConstant
from liquidtime.theory.quadrature import cumulative


def exact(
    signal: Signal,
    t: Any,
    x0: Any,
    *,
    A: Any,
    w_tau: Any,
    f: Nonlinearity = sigmoid,
    breaks: Any = (),
    tolerance: float = 1e-10,
) -> Array:
    """Solve the scalar LTC equation with x(0) = x0 for any input signal.

        dx/dt = -[w_tau + f(I(t))] x + A [w_tau + f(I(t))]
        x(t)  = (x0 - A) exp(-w_tau t - ∫₀ᵗ f(I(s)) ds) + A

    The integral is computed in float64, in closed form for a `PiecewiseConstant` signal and by adaptive Gauss-Lobatto
    quadrature for any other. An error of `tolerance` in the mean of f over 0…t changes x(t) by at most |x0 - A| ·
    tolerance · t · exp(-w_tau t). Quadrature evaluates the signal at 2,000 times or more between 0 and the last t; a
    shorter pulse may be missed, unless `breaks` contains its times.

    Args:
        signal: I, called with times (N,); returns (N,) or one number.
        t: times of any shape and order, at least 0.
        x0: state at t = 0, a number or an array that broadcasts against t.
        A: the limit of the state, in the same form as x0.
        w_tau: the constant part of the rate, in the same form as x0.
        f: nonlinearity, called with inputs (N,), values in [0, 1].
        breaks: (M,) times at which the signal jumps or has a kink, if known.
        tolerance: largest error of the mean of f(I) over 0…t, for quadrature.

    Returns:
        x(t), in the shape of t (broadcast with x0, A and w_tau).

    Raises:
        ValueError: times are negative, values of f are outside [0, 1], or the signal is not finite or changes too fast.

    """
    t, x0, A, w_tau = as_times("t", t), as_numbers("x0", x0), as_numbers("A", A), as_numbers("w_tau", w_tau)
    if not 0 < tolerance < math.inf:
        raise ValueError(f"`tolerance` must be finite and greater than 0; got {tolerance}")
    if isinstance(signal, PiecewiseConstant):
        integral = signal.integral(t, f)
    else:
        ends, positions = np.unique(t, return_inverse=True)
        cuts = as_times("breaks", np.asarray(breaks, dtype=np.float64)).ravel()
        sums = cumulative(lambda s: activity(f, input_at(signal, s)), ends, cuts, tolerance)
        integral = sums[positions].reshape(t.shape)
    solution: Array = (x0 - A) * np.exp(-w_tau * t - integral) + A
    return solution
