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

    Rows are drawn with replacement; for AUC and average precision within each class, so that every resample has
    the classes in the numbers of the test part. With `clusters` whole clusters are drawn, such as all samples of a
    series or all series of a patient: rows that resemble each other do not count as independent ones. Where all
    answers are right, or all wrong, every resample is alike, and the end of the interval of a share (accuracy, AUC and
    others) is the exact one for that many independent answers.

    Args:
        metric: one of `METRICS`.
        target: (n,) labels 0…C−1, or (n,) or (n, K) values.
        prediction: (n,) or (n, C) probabilities, or values shaped as the target.
        level: in (0, 1).
        resamples: at least 100.
        seed: of the draws; the caller's random state is not touched.
        clusters: (n,) of which cluster each row is; None where rows are independent.

    Raises:
        ValueError: an unknown metric, input that the metric refuses, or clusters of another length.

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
    """Return how many pairs of two classes there are that share no row: the independent comparisons of an AUC."""
    return min(_units(y, owner[y == k]) for k in np.unique(y))


_TRIALS: dict[str, Callable[[npt.NDArray[Any], npt.NDArray[np.int64]], int]] = {
    "accuracy": _units,
    "auc": _pairs,
    "balanced_accuracy": _pairs,
    "sensitivity": lambda y, owner: _units(y, owner[y > 0]),
    "specificity": lambda y, owner: _units(y, owner[y == 0]),
}
"""Shares of right answers, and of how many independent ones, by metric."""


def _exact_ends(value: float, trials: int, level: float) -> tuple[float, float]:
    """Return the interval of a share whose answers are all right or all wrong, which resamples cannot give.

    The exact (Clopper-Pearson) end of n right answers of n is ((1 - level) / 2)^(1 / n).
    """
    end = float(((1.0 - level) / 2) ** (1.0 / trials))
    return (end, 1.0) if value == 1.0 else (0.0, 1.0 - end)


def _groups(
    metric: Metric, y: npt.NDArray[Any], clusters: Any
) -> tuple[list[npt.NDArray[np.intp]], npt.NDArray[np.int64] | None]:
    """Return the groups that are drawn from, each as often as it has members, and the cluster of each row if any."""
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
    """Return by how much a metric differs between two predictions of the same rows, on the same resamples.

    Args:
        metric: one of `METRICS`.
        target: (n,) labels 0…C−1, or (n,) or (n, K) values.
        first: (n,) or (n, C) probabilities, or values shaped as the target.
        second: likewise; its figure is subtracted.
        level: in (0, 1).
        resamples: at least 100.
        seed: of the draws; the caller's random state is not touched.
        clusters: (n,) of which cluster each row is; None where rows are independent.

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
    """Return the mean of some numbers with its percentile bootstrap interval; exact where a share is 0 or 1.

    Args:
        values: (n,) finite, at least one.
        level: in (0, 1).
        resamples: at least 100.
        seed: of the draws; the caller's random state is not touched.
        clusters: (n,) of which cluster each number is, as for `bootstrap_interval`.
        share: whether the numbers are shares of answers in 0…1, whose mean has an exact interval where it is 0 or 1.

    Raises:
        ValueError: no number, or one that is not finite.

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
    """Return (n,) the number of each row's cluster; None where there are none."""
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

    With `owner` (n,) the groups are of clusters, and a row is drawn as often as its own.
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
        with np.errstate(divide="ignore", invalid="ignore"):  # clusters drawn may lack a class: NaN, left out below
            values.append(weighted(counts if owner is None else counts[:, owner]))
    tail = (1.0 - level) / 2
    low, high = np.nanquantile(np.concatenate(values), [tail, 1.0 - tail])
    return float(low), float(high)


def _counts(rng: np.random.Generator, groups: list[npt.NDArray[np.intp]], n: int, R: int) -> Array:
    """Return (R, n): how often each row was drawn, each group as often as it has rows."""
    drawn = [rows[rng.integers(0, len(rows), (R, len(rows)))] for rows in groups]
    flat = np.concatenate(drawn, axis=1) + n * np.arange(R)[:, None]
    return np.bincount(flat.ravel(), minlength=R * n).reshape(R, n).astype(np.float64)
