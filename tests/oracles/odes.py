"""Differential equations dx/dt = push(x) - rate(x)·x with known solutions, in float64."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    name: str
    rate: Callable  # of a tensor x
    push: Callable
    solution: Callable  # (t, x0) -> x(t)
    x0: float


PROBLEMS = [
    Problem("logistic", lambda x: x, lambda x: x, lambda t, x0: 1 / (1 + (1 / x0 - 1) * np.exp(-t)), 0.2),
    Problem("cubic decay", lambda x: x * x, lambda x: 0 * x, lambda t, x0: x0 / np.sqrt(1 + 2 * x0**2 * t), 0.6),
    Problem(
        "slowing growth",
        lambda x: 1 + 0 * x,
        lambda x: (-x).exp() + x,
        lambda t, x0: np.log(np.exp(x0) + t),
        0.3,
    ),
]


def relaxation(x0, rate, push, t):
    """Return x(t) of dx/dt = push - rate·x with constant rate and push."""
    rest = push / rate
    return rest + (x0 - rest) * np.exp(-rate * t)
