"""A bound on the error of the lemma's closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from liquidtime.theory.activity import Array, as_numbers, as_rate, as_times


def bound(t: Any, x0: Any, *, A: Any, w_tau: Any) -> Array:
    """Return the largest possible distance of `approximate` from `exact` at time t, over all input signals.

        |x(t) - x̃(t)| ≤ |x0 - A| exp(-w_tau t)

    Args:
        t: times of any shape, at least 0.
        x0: state at t = 0, a number or an array that broadcasts against t.
        A: the limit of the state, in the same form as x0.
        w_tau: the constant part of the rate, greater than 0, in the same form as x0.

    Returns:
        The bound, in the shape of t (broadcast with x0, A and w_tau).

    Raises:
        ValueError: times are negative, or w_tau is not positive.

    """
    t, x0, A, w_tau = as_times("t", t), as_numbers("x0", x0), as_numbers("A", A), as_rate("w_tau", w_tau)
    largest: Array = np.abs(x0 - A) * np.exp(-w_tau * t)
    return largest


def sharpness(t: Any, w_tau: Any) -> tuple[Array, Array]:
    """Return the infimum and the supremum of (x(t) - x̃(t)) / (x0 - A) over all continuous input signals.

        inf = exp(-w_tau t) (exp(-t) - 1),   sup = exp(-w_tau t)

    They hold for an f that comes arbitrarily close to 0 and to 1, such as the sigmoid, and are approached but not
    reached.

    Args:
        t: times of any shape, at least 0.
        w_tau: the constant part of the rate, greater than 0, a number or an array that broadcasts against t.

    Returns:
        (lower, upper), each in the shape of t (broadcast with w_tau).

    Raises:
        ValueError: times are negative, or w_tau is not positive.

    """
    t, w_tau = as_times("t", t), as_rate("w_tau", w_tau)
    upper: Array = np.exp(-w_tau * t)
    lower: Array = upper * np.expm1(-t)
    return lower, upper
