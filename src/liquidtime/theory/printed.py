"""The solution of the liquid equation as printed in the paper, without the term that makes it symmetric."""

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

_MOST_STEPS = 2**20


def printed(
    signal: Signal,
    t: Any,
    x0: float,
    *,
    A: float,
    w_tau: float,
    f: Nonlinearity = sigmoid,
    breaks: Any = (),
    tolerance: float = 1e-8,
) -> Array:
    """Solve the paper's equation 1 for one neuron whose f depends only on the input, with x(0) = x0.

        dx/dt = -[w_tau + f(I(t))] x + A f(I(t))

    While f is constant, the solution is x∞ + (x - x∞) exp(-[w_tau + f] h) with x∞ = A f / (w_tau + f). This is exact
    for a `PiecewiseConstant` signal. For any other signal, f is evaluated at the middle of equal steps, whose number is
    doubled until the extrapolated x(t) changes nowhere by more than `tolerance`.

    Args:
        signal: I, called with times (N,); returns (N,) or one number.
        t: times of any shape and order, at least 0.
        x0: state at t = 0.
        A: the factor of f, towards which the input drives the state.
        w_tau: the constant part of the rate, at least 0.
        f: nonlinearity, called with inputs (N,), values in [0, 1].
        breaks: (M,) times at which the signal jumps, if known.
        tolerance: largest change of x(t) between the last two numbers of steps.

    Returns:
        x(t), in the shape of t.

    Raises:
        ValueError: times are negative, values of f are outside [0, 1], or the signal is not finite or changes too fast.

    """
    t = as_times("t", t)
    x0, A, w_tau = (float(as_numbers(name, value)) for name, value in (("x0", x0), ("A", A), ("w_tau", w_tau)))
    if not 0 < tolerance < math.inf:
        raise ValueError(f"`tolerance` must be finite and greater than 0; got {tolerance}")
    if w_tau < 0:
        raise ValueError(f"`w_tau` must be at least 0; got {w_tau:g}")
    held = isinstance(signal, PiecewiseConstant)
    cuts = signal.times if isinstance(signal, PiecewiseConstant) else as_times("breaks", np.asarray(breaks, float))
    ends, positions = np.unique(t, return_inverse=True)
    last = ends[-1] if ends.size else 0.0
    edges = np.unique(np.concatenate([[0.0], cuts.ravel()[cuts.ravel() < last], ends]))

    def solve(steps: int) -> Array:
        fractions = np.arange(steps) / steps
        starts = (edges[:-1, None] + np.diff(edges)[:, None] * fractions).ravel()
        lengths = np.repeat(np.diff(edges) / steps, steps)
        rates = activity(f, input_at(signal, starts + 0.5 * lengths))
        total = w_tau + rates
        rest = A * rates / np.where(total > 0, total, 1.0)
        factors = np.exp(-total * lengths)
        states, x = np.empty(len(edges)), x0
        states[0] = x0
        for k in range(len(edges) - 1):
            for i in range(k * steps, (k + 1) * steps):
                x = rest[i] + (x - rest[i]) * factors[i]
            states[k + 1] = x
        return states

    if held or len(edges) == 1:
        states = solve(1)
    else:
        steps = 2
        coarse = solve(1)
        fine = solve(steps)
        guess = fine + (fine - coarse) / 3  # the error of the midpoint rule falls with the square of the step
        while True:
            steps *= 2
            if steps * (len(edges) - 1) > _MOST_STEPS:
                raise ValueError(
                    f"`signal` changes too fast: {_MOST_STEPS:,} steps do not reach the tolerance {tolerance:g}. List "
                    "its jumps in `breaks`, or allow a larger `tolerance`."
                )
            coarse, fine = fine, solve(steps)
            better = fine + (fine - coarse) / 3
            done = np.abs(better - guess).max() <= tolerance
            guess = better
            if done:
                break
        states = guess
    solution: Array = states[np.searchsorted(edges, ends)][positions].reshape(t.shape)
    return solution
