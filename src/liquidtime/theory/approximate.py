"""The lemma's closed form for the scalar LTC equation."""

from __future__ import annotations

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


def approximate(signal: Signal, t: Any, x0: Any, *, A: Any, w_tau: Any, f: Nonlinearity = sigmoid) -> Array:
    """Approximate the solution of the scalar LTC equation from the input at time t alone.

        x(t) ≈ (x0 - A) exp(-[w_tau + f(I(t))] t) f(-I(t)) + A

    Args:
        signal: I, called with times (N,); returns (N,) or one number.
        t: times of any shape, at least 0.
        x0: state at t = 0, a number or an array that broadcasts against t.
        A: the limit of the state, in the same form as x0.
        w_tau: the constant part of the rate, in the same form as x0.
        f: nonlinearity, called with inputs (N,), values in [0, 1].

    Returns:
        The approximation, in the shape of t (broadcast with x0, A and w_tau). Its error is at most `bound`.

    Raises:
        ValueError: times are negative, values of f are outside [0, 1], or the signal is not finite.

    """
    t, x0, A, w_tau = as_times("t", t), as_numbers("x0", x0), as_numbers("A", A), as_numbers("w_tau", w_tau)
    inputs = input_at(signal, t.ravel())
    rate = activity(f, inputs).reshape(t.shape)
    gate = activity(f, -inputs).reshape(t.shape)
    approximation: Array = (x0 - A) * np.exp(-(w_tau + rate) * t) * gate + A
    return approximation
