"""Intervals around predicted values, from the errors of predictions for held-out series."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_MOST = 1001
"""Number of order statistics to store of each target's residuals."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Errors of predictions for series that the model was not fitted to.

    The interval of coverage c goes from the k-th smallest residual to the k-th largest around the prediction,
    k = floor((n + 1)·(1 - c) / 2) of n residuals: for new series like these, it contains the truth at least that often.

    Args:
        count: n.
        sorted: (m, K) truth - prediction of each target in ascending order: all n, or m evenly spread ones.
    """

    count: int
    sorted: Floats

    @staticmethod
    def of(residuals: Floats) -> Residuals:
        """Return the residuals of K targets in ascending order.

        Args:
            residuals: (n, K) residuals; rows that were not held out are NaN.
        """
        known = residuals[np.isfinite(residuals).all(axis=1)]
        ordered = np.sort(known, axis=0)
        kept = np.unique(np.linspace(0, len(ordered) - 1, min(_MOST, len(ordered))).round().astype(np.int64))
        return Residuals(len(ordered), ordered[kept])

    def ends(self, coverage: float) -> tuple[Floats, Floats]:
        """Return (K,) offsets of the lower and upper ends of intervals from the prediction.

        Args:
            coverage: share of true values that the intervals should contain, in (0, 1).

        Raises:
            ValueError: the share is not in (0, 1).

        """
        if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0.0 < coverage < 1.0:
            raise ValueError(f"`coverage` must be between 0 and 1; got {coverage!r}")
        k = max(1, math.floor((self.count + 1) * (1.0 - coverage) / 2 + 1e-9))
        place = round((k - 1) / max(self.count - 1, 1) * (len(self.sorted) - 1))
        return self.sorted[place], self.sorted[len(self.sorted) - 1 - place]

    def around(self, predictions: Floats, coverage: float) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of predictions (n,) or (n, K), shaped as they are."""
        low, high = self.ends(coverage)
        shape = predictions.shape
        table = predictions.reshape(len(predictions), -1)
        return (table + low).reshape(shape), (table + high).reshape(shape)

    def stored(self) -> dict[str, Any]:
        """Return the residuals, ready for JSON."""
        return {"count": self.count, "sorted": self.sorted.T.tolist()}

    @staticmethod
    def restored(stored: Any, K: int) -> Residuals:
        """Read the result of `stored`, from a file of unknown origin.

        Raises:
            ValueError: these are not the residuals of K targets.

        """
        try:
            count, table = stored["count"], np.array(stored["sorted"], dtype=np.float64).T
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"`residuals` must have a count and sorted numbers: {error}") from error
        fits = type(count) is int and table.ndim == 2 and table.shape[1] == K and 1 <= len(table) <= min(count, _MOST)
        if not fits or not np.isfinite(table).all() or (np.diff(table, axis=0) < 0).any():
            raise ValueError(f"`residuals` must be finite and sorted, of {K} targets")
        return Residuals(count, table)
