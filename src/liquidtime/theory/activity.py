"""Arguments of the theory: times, numbers, an input signal, and the nonlinearity f with values in [0, 1].

The theory computes in numpy float64 and returns numpy arrays; torch tensors are converted to arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from torch import Tensor

Array: TypeAlias = npt.NDArray[np.float64]
Signal: TypeAlias = Callable[[Array], Any]
"""I(s): maps times (N,) to the input at each of them (N,), or to one number for all of them."""
Nonlinearity: TypeAlias = Callable[[Array], Any]
"""f: maps inputs (N,) to numbers in [0, 1]."""


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), without overflow."""
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, decay) / (1.0 + decay)


def as_numbers(argument: str, value: object) -> Array:
    """Return `value` as a float64 array of finite numbers, or refuse it."""
    array = np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"`{argument}` must be numbers; got {array.dtype}")
    numbers = array.astype(np.float64)
    bad = ~np.isfinite(numbers)
    if bad.any():
        first = numbers[bad][0]
        raise ValueError(f"`{argument}` must be finite; {int(bad.sum())} of {bad.size} are not, the first is {first}")
    return numbers


def as_times(argument: str, value: object) -> Array:
    """Return `value` as a float64 array of finite times that are at least 0, or refuse it."""
    times = as_numbers(argument, value)
    bad = times < 0
    if bad.any():
        raise ValueError(
            f"`{argument}` must be at least 0, the time of x0; {int(bad.sum())} of {bad.size} are not, "
            f"the first is {times[bad][0]:g}"
        )
    return times


def as_rate(argument: str, value: object) -> Array:
    """Return `value` as a float64 array of positive numbers, or refuse it."""
    rates = as_numbers(argument, value)
    if not (rates > 0).all():
        worst = rates.min()
        raise ValueError(f"`{argument}` must be greater than 0, otherwise the bound does not decay; got {worst:g}")
    return rates


def input_at(signal: Signal, s: Array) -> Array:
    """Return I(s) at times s (N,), or refuse a signal that is not one finite number per time."""
    outputs = signal(s)
    values = np.asarray(outputs.detach().cpu() if isinstance(outputs, Tensor) else outputs, dtype=np.float64)
    if values.shape not in ((), s.shape):
        raise ValueError(
            f"`signal` must return one number per time, shape (N,) = {s.shape}; got {values.shape}. "
            "It is called with an array of times."
        )
    values = np.broadcast_to(values, s.shape)
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(f"`signal` must be finite; it is {values[bad][0]} at t = {s[bad][0]:g}")
    return values


def activity(f: Nonlinearity, inputs: Array) -> Array:
    """Return f at inputs (N,), or refuse an f that leaves [0, 1] on them."""
    values = np.broadcast_to(np.asarray(f(inputs), dtype=np.float64), inputs.shape)
    good = (values >= 0) & (values <= 1)
    if not good.all():
        worst = int(np.argmax(np.where(np.isnan(values), np.inf, np.abs(values - 0.5))))
        raise ValueError(
            f"`f` must have values in [0, 1], since the lemma needs 0 ≤ f ≤ 1; "
            f"f({inputs[worst]:g}) is {values[worst]:g}. Pass a function such as the sigmoid."
        )
    return values
