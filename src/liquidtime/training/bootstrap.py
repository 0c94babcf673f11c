"""Confidence intervals by resampling the rows of a test part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice, check_size
from liquidtime.training.metrics import METRICS, Array

_CELLS = 2_000_000
"""Weights held at once: resamples are drawn in blocks of this size."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """A figure with its confidence interval.

    Args:
        value: on the rows as they are.
        low: lower end.
        high: upper end.
        level: share of such intervals that cover the truth.
        resamples: how many were drawn.
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    resamples: int = 2000

    def __str__(self) -> str:
        value, low, high = (
            f"{number:.3f}" if abs(number) < 100 else f"{number:,.0f}" for number in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"


def bootstrap_interval(
    metric: str, target: Any, prediction: Any, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> ConfidenceInterval:
    """Return a metric with its percentile bootstrap interval.

    Rows are drawn with replacement; for AUC and average precision within each class, so that every resample has
    the classes in the numbers of the test part.

    Args:
        metric: one of `METRICS`.
        target: (n,) labels 0…C−1, or (n,) or (n, K) values.
        prediction: (n,) or (n, C) probabilities, or values shaped as the target.
        level: in (0, 1).
        resamples: at least 100.
        seed: of the draws; the caller's random state is not touched.

    Raises:
        ValueError: an unknown metric, or input that the metric refuses.

    """
    check_choice("metric", metric, METRICS)
    chosen = METRICS[metric]
    y, p = chosen.prepare(target, prediction)
    groups = [np.flatnonzero(y == k) for k in np.unique(y)] if chosen.stratified else [np.arange(len(y))]
    low, high = _ends(lambda W: chosen.weighted(y, p, W), groups, level, resamples, seed)
    return ConfidenceInterval(float(chosen.score(y, p)), low, high, level, resamples)


def mean_interval(values: Any, *, level: float = 0.95, resamples: int = 2000, seed: int = 0) -> ConfidenceInterval:
    """Return the mean of some numbers with its percentile bootstrap interval.

    Args:
        values: (n,) finite, at least one.
        level: in (0, 1).
        resamples: at least 100.
        seed: of the draws; the caller's random state is not touched.

    Raises:
        ValueError: no number, or one that is not finite.

    """
    each = np.asarray(values, dtype=np.float64)
    if each.ndim != 1 or len(each) == 0 or not np.isfinite(each).all():
        raise ValueError(f"`values` must be (n,) finite numbers, at least one; got shape {each.shape}")
    low, high = _ends(lambda W: W @ each / W.sum(axis=1), [np.arange(len(each))], level, resamples, seed)
    return ConfidenceInterval(float(each.mean()), low, high, level, resamples)


def _ends(
    weighted: Callable[[Array], Array], groups: list[npt.NDArray[np.intp]], level: float, resamples: int, seed: int
) -> tuple[float, float]:
    """Return the ends of the interval of a figure, given as a function of (R, n) weights of the rows."""
    check_size("resamples", resamples, 100)
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must be between 0 and 1; got {level!r}")
    n = sum(map(len, groups))
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // n)
    values = [weighted(_counts(rng, groups, n, min(block, resamples - start))) for start in range(0, resamples, block)]
    tail = (1.0 - level) / 2
    low, high = np.nanquantile(np.concatenate(values), [tail, 1.0 - tail])
    return float(low), float(high)


def _counts(rng: np.random.Generator, groups: list[npt.NDArray[np.intp]], n: int, R: int) -> Array:
    """Return (R, n): how often each row was drawn, each group as often as it has rows."""
    drawn = [rows[rng.integers(0, len(rows), (R, len(rows)))] for rows in groups]
    flat = np.concatenate(drawn, axis=1) + n * np.arange(R)[:, None]
    return np.bincount(flat.ravel(), minlength=R * n).reshape(R, n).astype(np.float64)
