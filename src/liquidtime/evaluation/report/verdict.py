"""The result as a sentence: which model to use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from liquidtime.tasks import Comparison
from liquidtime.tasks.comparison import ALONE, BOOSTING
from liquidtime.training import METRICS, ConfidenceInterval, mean_interval
from liquidtime.training.bootstrap import difference_interval

_FEW = 10
"""Number of test series below which an interval means little, because resamples of so few are too similar."""


_NOTHING = 1e-6
"""Size of rounding errors, relative to the targets."""
_POWERS = {"mse": 2, "rmse": 1, "mae": 1}


def verdict(comparison: Comparison, paired: bool = True) -> str:
    """Return a sentence that says whether the model is better than the strongest baseline, and than a guess.

    Args:
        comparison: comparison on the test part.
        paired: whether the figures are means over its rows; for forecasts they are means over series.
    """
    figures, ours = comparison.figures, comparison.name
    metric = next(iter(figures[ours]), None)
    rivals = [name for name in figures if name not in (ours, ALONE) and metric in figures[name]]
    if metric is None or metric not in METRICS or not rivals:
        return ""
    sign = 1.0 if METRICS[metric].higher_is_better else -1.0
    best = max(rivals, key=lambda name: sign * figures[name][metric].value)
    difference = _difference(comparison, metric, best, paired)
    low, high = sorted((sign * difference.low, sign * difference.high))
    apart, half = abs(difference.value), (difference.high - difference.low) / 2
    mine, theirs = (f"{figures[name][metric].value:.3g}" for name in (ours, best))
    label = METRICS[metric].short_label
    shown = f"{label} {mine} against {theirs}, a difference of {apart:.2g} ± {half:.2g}"
    rival, units = _capital(best), _units(comparison, metric, paired)
    if _is_rounding(comparison, metric, [figures[name][metric].value for name in (ours, best)]):
        return f"{_capital(ours)} and {best} are both exact here up to rounding: {label} {mine} against {theirs}."
    if units is not None and units < _FEW:
        return (
            f"The test part has only {units} independent series or groups, too few to compare {ours} with {best}: "
            f"{label} {mine} against {theirs}. Test on more series."
        )
    if figures[ours][metric].value == figures[best][metric].value == METRICS[metric].perfect:
        return f"{_capital(ours)} and {best} are both perfect here: {label} {mine}. Use either, or test on more series."
    if low > 0:
        return f"{_capital(ours)} is better here than {best}: {shown}."
    if high < 0:
        by = f"by {apart:.2g} ± {half:.2g} ({label} {theirs} against {mine})"
        if best.startswith("guess"):
            return f"A guess is better here {by}: do not use this model. More series may help."
        return f"{rival} is better here {by}: use it instead, or train on more series or for longer and test again."
    if not best.startswith("guess") and best != BOOSTING:
        return f"{_capital(ours)} and {best} cannot be told apart here: {shown}. The simpler one may be enough."
    if best.startswith("guess"):
        return f"{_capital(ours)} is not measurably better than a guess here: {shown}."
    return f"{_capital(ours)} and {best} cannot be told apart here: {shown}. Use either, or test on more series."


def _is_rounding(comparison: Comparison, metric: str, values: Sequence[float]) -> bool:
    """Return whether the errors are so small, relative to the targets, that they are rounding errors."""
    if metric not in _POWERS:
        return False
    size = float(np.sqrt(np.mean(np.square(comparison.target.astype(np.float64)))))
    return max(values) <= (_NOTHING * size) ** _POWERS[metric]


def _units(comparison: Comparison, metric: str, paired: bool) -> int | None:
    """Return the number of independent test series or groups; None if it is not known."""
    if metric in comparison.errors:
        groups = comparison.error_groups
        return len(comparison.errors[metric][comparison.name] if groups is None else np.unique(groups))
    if not paired:
        return None
    clusters = comparison.clusters
    return len(comparison.target) if clusters is None else len(np.unique(clusters))


def _difference(comparison: Comparison, metric: str, rival: str, paired: bool) -> ConfidenceInterval:
    """Return our figure minus the baseline's, on the same resamples if rows can be drawn, else from both intervals."""
    ours = comparison.name
    first, second = comparison.figures[ours][metric], comparison.figures[rival][metric]
    predictions = comparison.predictions
    if metric in comparison.errors:
        errors = comparison.errors[metric]
        return mean_interval(errors[ours] - errors[rival], clusters=comparison.error_groups)
    if paired:
        return difference_interval(
            metric, comparison.target, predictions[ours], predictions[rival], clusters=comparison.clusters
        )
    half = (((first.high - first.low) / 2) ** 2 + ((second.high - second.low) / 2) ** 2) ** 0.5
    apart = first.value - second.value
    return ConfidenceInterval(apart, apart - half, apart + half)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
