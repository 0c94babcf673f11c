"""An input that is constant between the times at which it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from liquidtime.errors import wrong_shape
from liquidtime.theory.activity import Array, Nonlinearity, activity, as_numbers, as_times


@dataclass(frozen=True, eq=False, init=False)
class PiecewiseConstant:
    """The signal I(t) = values[i] for times[i] ≤ t < times[i + 1]; the last value holds forever.

    Args:
        times: (N,) times at which the value changes, increasing; the first is 0.
        values: (N,) value from each of these times on.

    Raises:
        ValueError: times do not start at 0 or do not increase, shapes do not fit, or numbers are not finite.

    """

    times: Array
    values: Array

    def __init__(self, times: Any, values: Any) -> None:
        times, values = as_times("times", times), as_numbers("values", values)
        if times.ndim != 1 or times.size == 0 or times[0] != 0:
            start = f"starting at {times.flat[0]:g}" if times.size else "no times"
            raise ValueError(f"`times` must have shape (N,) and start at 0; got shape {times.shape}, {start}")
        if values.shape != times.shape:
            raise wrong_shape("values", "(N,)", times.shape, values.shape, "One value per time.")
        falls = np.flatnonzero(np.diff(times) <= 0)
        if falls.size:
            raise ValueError(
                f"`times` must increase; {falls.size} do not, the first at position {falls[0] + 1} "
                f"({times[falls[0]]:g} then {times[falls[0] + 1]:g})"
            )
        times.setflags(write=False)
        values.setflags(write=False)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def __call__(self, t: Any) -> Array:
        """Return I(t) at times t, of any shape."""
        held: Array = self.values[self._piece(as_times("t", t))]
        return held

    def integral(self, t: Any, f: Nonlinearity) -> Array:
        """Return the integral of f(I(s)) over 0…t, with τ the times and γ the values.

            ∫₀ᵗ f(I(s)) ds = f(γ_k) (t - τ_k) + Σ_{i<k} f(γ_i) (τ_{i+1} - τ_i),   τ_k ≤ t < τ_{k+1}

        Args:
            t: times of any shape, at least 0.
            f: nonlinearity with values in [0, 1].

        """
        t = as_times("t", t)
        held = activity(f, self.values)
        before = np.concatenate([[0.0], np.cumsum(held[:-1] * np.diff(self.times))])
        k = self._piece(t)
        total: Array = before[k] + held[k] * (t - self.times[k])
        return total

    def _piece(self, t: Array) -> Any:
        return np.searchsorted(self.times, t, side="right") - 1
