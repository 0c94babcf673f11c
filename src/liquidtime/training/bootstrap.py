"""Confidence intervals by resampling the rows of a test part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice, check_size
from liquidtime.training.metrics import METRICS, Array, Metric

_CELLS = 2_000_000
"""Number of weights in memory at once: resamples are drawn in blocks of this size."""


@dataclass(frozen=True)
class ConfidenceInterval:
    """A figure with its confidence interval.

    Args:
        value: the figure on the original rows.
        low: lower end of the interval.
        high: upper end of the interval.
        level: share of such intervals that contain the true value.
        resamples: number of resamples.
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
    metric: str,
    target: Any,
    prediction: Any,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    clusters: Any = None,
) -> ConfidenceInterval:
    """Return a metric with its percentile bootstrap interval.

    Rows are drawn with replacement; for AUC and average precision separately in each class, so that every resample has
    as many rows of each class as the test part. With `clusters`, whole clusters are drawn, such as all samples of a
    series or all series of a patient, because their rows are not independent. If all answers are right, or all wrong,
    all resamples are equal; the end of the interval of a share (accuracy, AUC and others) is then the exact one for
    that many independent answers.

    Args:
        metric: one of `METRICS`.
        target: (n,) labels 0…C−1, or (n,) or (n, K) values.
        prediction: (n,) or (n, C) probabilities, or values shaped as the target.
        level: confidence level, in (0, 1).
        resamples: number of resamples, at least 100.
        seed: random seed; the caller's random state does not change.
        clusters: (n,) cluster of each row; None if rows are independent.

    Raises:
        ValueError: an unknown metric, input that the metric refuses, or `clusters` of another length.

    """
    check_choice("metric", metric, METRICS)
    chosen = METRICS[metric]
    y, p = chosen.prepare(target, prediction)
    groups, owner = _groups(chosen, y, clusters)
    value = float(chosen.score(y, p))
    low, high = _ends(lambda W: chosen.weighted(y, p, W), groups, level, resamples, seed, owner)
    trials = _TRIALS.get(metric)
    if trials is not None and value in (0.0, 1.0):
        low, high = _exact_ends(value, trials(y, np.arange(len(y)) if owner is None else owner), level)
    return ConfidenceInterval(value, low, high, level, resamples)


def _units(y: npt.NDArray[Any], owner: npt.NDArray[np.int64]) -> int:
    return len(np.unique(owner))


def _pairs(y: npt.NDArray[Any], owner: npt.NDArray[np.int64]) -> int:
    """Return the number of independent comparisons behind an AUC: pairs of two classes that share no row."""
    return min(_units(y, owner[y == k]) for k in np.unique(y))


_TRIALS: dict[str, Callable[[npt.NDArray[Any], npt.NDArray[np.int64]], int]] = {
    "accuracy": _units,
    "auc": _pairs,
    "balanced_accuracy": _pairs,
    "sensitivity": lambda y, owner: _units(y, owner[y > 0]),
    "specificity": lambda y, owner: _units(y, owner[y == 0]),
}
"""Metrics that are shares of right answers, with the number of independent answers."""


def _exact_ends(value: float, trials: int, level: float) -> tuple[float, float]:
    """Return the interval of a share if all answers are right or all are wrong, which resampling cannot give.

    The exact (Clopper-Pearson) end of n right answers of n is ((1 - level) / 2)^(1 / n).
    """
    end = float(((1.0 - level) / 2) ** (1.0 / trials))
    return (end, 1.0) if value == 1.0 else (0.0, 1.0 - end)


def _groups(
    metric: Metric, y: npt.NDArray[Any], clusters: Any
) -> tuple[list[npt.NDArray[np.intp]], npt.NDArray[np.int64] | None]:
    """Return the groups to draw from, each as often as it has members, and the cluster of each row, if any."""
    owner = _owners(clusters, len(y))
    if owner is not None:
        return [np.arange(int(owner.max()) + 1)], owner
    return [np.flatnonzero(y == k) for k in np.unique(y)] if metric.stratified else [np.arange(len(y))], None


def difference_interval(
    metric: str,
    target: Any,
    first: Any,
    second: Any,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    clusters: Any = None,
) -> ConfidenceInterval:
    """Return the difference of a metric between two predictions of the same rows, on the same resamples.

    Args:
        metric: one of `METRICS`.
        target: (n,) labels 0…C−1, or (n,) or (n, K) values.
        first: (n,) or (n, C) probabilities, or values shaped as the target.
        second: likewise; its figure is subtracted.
        level: confidence level, in (0, 1).
        resamples: number of resamples, at least 100.
        seed: random seed; the caller's random state does not change.
        clusters: (n,) cluster of each row; None if rows are independent.

    Raises:
        ValueError: an unknown metric, or input that the metric refuses.

    """
    check_choice("metric", metric, METRICS)
    chosen = METRICS[metric]
    y, p = chosen.prepare(target, first)
    _, q = chosen.prepare(target, second)
    groups, owner = _groups(chosen, y, clusters)

    def apart(W: Array) -> Array:
        return chosen.weighted(y, p, W) - chosen.weighted(y, q, W)

    low, high = _ends(apart, groups, level, resamples, seed, owner)
    return ConfidenceInterval(float(chosen.score(y, p) - chosen.score(y, q)), low, high, level, resamples)


def mean_interval(
    values: Any,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    clusters: Any = None,
    share: bool = False,
) -> ConfidenceInterval:
    """Return the mean of numbers with its percentile bootstrap interval, which is exact for a share of 0 or 1.

    Args:
        values: (n,) finite numbers, at least one.
        level: confidence level, in (0, 1).
        resamples: number of resamples, at least 100.
        seed: random seed; the caller's random state does not change.
        clusters: (n,) cluster of each number, as in `bootstrap_interval`.
        share: whether the numbers are shares in 0…1; the interval is then exact if their mean is 0 or 1.

    Raises:
        ValueError: there is no number, or one is not finite.

    """
    each = np.asarray(values, dtype=np.float64)
    if each.ndim != 1 or len(each) == 0 or not np.isfinite(each).all():
        raise ValueError(f"`values` must be (n,) finite numbers, at least one; got shape {each.shape}")
    owner = _owners(clusters, len(each))
    groups = [np.arange(len(each) if owner is None else int(owner.max()) + 1)]
    mean = float(each.mean())
    low, high = _ends(lambda W: W @ each / W.sum(axis=1), groups, level, resamples, seed, owner)
    if share and mean in (0.0, 1.0):
        low, high = _exact_ends(mean, len(groups[0]), level)
    return ConfidenceInterval(mean, low, high, level, resamples)


def _owners(clusters: Any, n: int) -> npt.NDArray[np.int64] | None:
    """Return (n,) the index of each row's cluster; None without clusters."""
    if clusters is None:
        return None
    array = np.asarray(clusters)
    if array.shape != (n,):
        raise ValueError(f"`clusters` must have one entry per row, ({n},); got shape {array.shape}")
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _ends(
    weighted: Callable[[Array], Array],
    groups: list[npt.NDArray[np.intp]],
    level: float,
    resamples: int,
    seed: int,
    owner: npt.NDArray[np.int64] | None,
) -> tuple[float, float]:
    """Return the ends of the interval of a figure, given as a function of (R, n) weights of the rows.

    With `owner` (n,), the groups contain clusters, and a row is drawn as often as its cluster.
    """
    check_size("resamples", resamples, 100)
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must be between 0 and 1; got {level!r}")
    n = sum(map(len, groups))
    rng = np.random.default_rng(seed)
    block = max(1, _CELLS // (n if owner is None else len(owner)))
    values = []
    for start in range(0, resamples, block):
        counts = _counts(rng, groups, n, min(block, resamples - start))
        with np.errstate(divide="ignore", invalid="ignore"):  # a resample may lack a class: NaN, left out below
            values.append(weighted(counts if owner is None else counts[:, owner]))
    tail = (1.0 - level) / 2
    low, high = np.nanquantile(np.concatenate(values), [tail, 1.0 - tail])
    return float(low), float(high)


def _counts(rng: np.random.Generator, groups: list[npt.NDArray[np.intp]], n: int, R: int) -> Array:
    """Return (R, n) how often each row was drawn; from each group as many are drawn as it has rows."""
    drawn = [rows[rng.integers(0, len(rows), (R, len(rows)))] for rows in groups]
    flat = np.concatenate(drawn, axis=1) + n * np.arange(R)[:, None]
    return np.bincount(flat.ravel(), minlength=R * n).reshape(R, n).astype(np.float64)
