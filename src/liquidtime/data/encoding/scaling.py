"""Scale columns to a common range: logarithm of heavy tails, clipping, standardisation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Scaled: TypeAlias = npt.NDArray[np.float32]

_ENOUGH = 20  # with fewer observations, tails cannot be assessed
_SKEWED = 0.5  # (q95 - q50) is three times (q50 - q05)


@dataclass(frozen=True)
class Scaling:
    """The scaling of C columns, measured on training data.

        z = (clip(g(x), low, high) - mean) / scale,   g(x) = log(1 + max(x, 0) / unit) where unit > 0, else x

    Args:
        unit: (C,) value at which the logarithm starts to bend; 0 for columns without a logarithm.
        low: (C,) lower limit of clipping; -inf for none.
        high: (C,) upper limit of clipping; inf for none.
        mean: (C,) mean of the clipped values; 0 for columns that were never observed.
        scale: (C,) their standard deviation; 1 for columns that are constant or were never observed.
    """

    unit: Array
    low: Array
    high: Array
    mean: Array
    scale: Array

    def column(self, position: int, values: npt.NDArray[Any]) -> Scaled:
        """Scale (N,) values of one column; NaN stays NaN."""
        p = position
        return _scale(values, self.unit[p], self.low[p], self.high[p], self.mean[p], self.scale[p])

    def rows(self, values: npt.NDArray[Any]) -> Scaled:
        """Scale (..., C) values, one per column; NaN stays NaN."""
        return _scale(values, self.unit, self.low, self.high, self.mean, self.scale)

    def invert(self, position: int, scaled: npt.NDArray[Any]) -> Array:
        """Return the values of one column from their (N,) scaled values; clipping cannot be undone."""
        raw: Array = np.asarray(scaled, dtype=np.float64) * self.scale[position] + self.mean[position]
        return np.expm1(raw) * self.unit[position] if self.unit[position] > 0 else raw


def _scale(values: npt.NDArray[Any], unit: Any, low: Any, high: Any, mean: Any, scale: Any) -> Scaled:
    """Scale values with the numbers of one column, or of all; what float32 cannot represent becomes infinite."""
    raw = values.astype(np.float64)
    logged = np.greater(unit, 0)
    if logged.any():
        raw = np.where(logged, _bend(raw, np.where(logged, unit, 1.0)), raw)
    with np.errstate(over="ignore"):
        scaled: Scaled = ((np.clip(raw, low, high) - mean) / scale).astype(np.float32)
    return scaled


def _bend(values: Array, unit: float | Array) -> Array:
    return np.log1p(np.maximum(values, 0.0) / unit)


def fit_scaling(
    values: npt.NDArray[np.float32],
    names: Sequence[str],
    clip: float | None,
    log: bool | Collection[str],
    categorical: Collection[str] = (),
) -> Scaling:
    """Measure the scaling of each column on its observed values.

    The limits are the `clip` and 1 - `clip` quantiles, each moved outwards by half their distance: usual values do not
    change, and values far outside are clipped. If both quantiles are the same value (a rare event), nothing is clipped.

    Args:
        values: (N, C) training data, NaN = not observed.
        names: C names.
        clip: quantile for clipping, such as 0.01; None for no clipping.
        log: True to take logarithms of columns that are heavy-tailed and not negative, False for none, or their names.
        categorical: names of categorical columns, which are not scaled.
    """
    columns = [column[~np.isnan(column)] for column in values.T]
    return scaling_of(columns, names, clip, log, categorical)


def scaling_of(
    columns: Sequence[npt.NDArray[np.float32]],
    names: Sequence[str],
    clip: float | None,
    log: bool | Collection[str],
    categorical: Collection[str] = (),
) -> Scaling:
    """As `fit_scaling`, for columns that have only their observed values.

    Args:
        columns: C arrays of observed values.
        names: C names.
        clip: quantile for clipping.
        log: columns to take logarithms of.
        categorical: names of columns that are not scaled.
    """
    C = len(names)
    unit, mean, scale = np.zeros(C), np.zeros(C), np.ones(C)
    low, high = np.full(C, -np.inf), np.full(C, np.inf)
    for position, name in enumerate(names):
        column = columns[position].astype(np.float64)
        if len(column) == 0 or name in categorical:
            continue
        if heavy_tailed(column) if isinstance(log, bool) and log else not isinstance(log, bool) and name in log:
            unit[position] = _log_unit(column)
        logged_or_raw = _bend(column, unit[position]) if unit[position] > 0 else column
        if clip is not None:
            q_low, q_high = np.quantile(logged_or_raw, [clip, 1 - clip])
            if q_low < q_high:
                margin = (q_high - q_low) / 2
                low[position], high[position] = q_low - margin, q_high + margin
        clipped = np.clip(logged_or_raw, low[position], high[position])
        mean[position] = clipped.mean()
        if clipped.min() < clipped.max():
            scale[position] = clipped.std()
    return Scaling(unit, low, high, mean, scale)


def _log_unit(column: Array) -> float:
    positive = column[column > 0]
    return float(np.quantile(positive, 0.05)) if len(positive) else 0.0


def heavy_tailed(column: Array) -> bool:
    """Return whether a logarithm makes the distribution of a column more symmetric.

    It does if no value is negative (apart from one in a hundred), the distance from the median to the 95 % quantile is
    more than three times that to the 5 % quantile, and these distances differ less after taking the logarithm.

    Args:
        column: (N,) observed values.
    """
    if len(column) < _ENOUGH or np.quantile(column, 0.01) < 0:
        return False
    unit = _log_unit(column)
    skewed = _skew(column)
    return unit > 0 and skewed > _SKEWED and abs(_skew(_bend(column, unit))) < skewed


def _skew(column: Array) -> float:
    low, middle, high = np.quantile(column, [0.05, 0.5, 0.95])
    return float((high + low - 2 * middle) / (high - low)) if high > low else 0.0
