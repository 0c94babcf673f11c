"""A model and its rivals on the same test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.tasks.figure_table import Figures, as_html, as_text, rows_of
from liquidtime.training import METRICS, ConfidenceInterval, bootstrap_interval

if TYPE_CHECKING:
    from liquidtime.estimators.faces.encoded_series import EncodedSeries

BOOSTING, ALONE = "gradient boosting on summary features", "CfC networks alone"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What several models do on one test part; shows itself as a table.

    Args:
        target: (n,) labels 0…C - 1, or (n,) or (n, K) values.
        predictions: (n, C) probabilities or values shaped as the target, by model; the tested model first.
        figures: figures of merit with 95 % confidence intervals, by model and metric.
        classes: the C classes; empty for values.
        series: the S test series as the tested model read them; None where they are not kept.
    """

    target: npt.NDArray[Any]
    predictions: Mapping[str, npt.NDArray[np.float64]]
    figures: Figures
    classes: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))
    series: EncodedSeries | None = None

    @property
    def name(self) -> str:
        """Name of the tested model."""
        return next(iter(self.figures))

    def plain(self) -> Comparison:
        """Return the figures and predictions alone, without the series."""
        return Comparison(self.target, self.predictions, self.figures, self.classes)

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the figures by model and metric, ready for JSON."""
        return {
            model: {
                metric: {"value": figure.value, "low": figure.low, "high": figure.high}
                for metric, figure in row.items()
            }
            for model, row in self.figures.items()
        }

    def __repr__(self) -> str:
        return as_text(rows_of(self.figures))

    def _repr_html_(self) -> str:
        return as_html(self.figures, "with 95 % confidence intervals; ↓: lower is better")


def compared(
    metrics: Sequence[str],
    target: npt.NDArray[Any],
    predictions: Mapping[str, npt.NDArray[np.float64]],
    series: EncodedSeries,
    seed: int,
    classes: Sequence[Any] = (),
) -> Comparison:
    """Return the comparison of predictions of one target for each series.

    Args:
        metrics: names in `METRICS`.
        target: (n,) labels 0…C - 1, or values.
        predictions: (n, C) probabilities or values by model; the tested model first.
        series: the n series.
        seed: of the resamples.
        classes: the C classes.
    """
    figures = {name: scores(metrics, target, prediction, seed) for name, prediction in predictions.items()}
    return Comparison(target, predictions, figures, np.asarray(classes), series)


def networks_alone(model: Any, series: Any) -> dict[str, npt.NDArray[np.float64]]:
    """Return what the networks of a stacked model say, by the name that tables have for them; else nothing.

    Args:
        model: fitted.
        series: as it reads them.
    """
    if not isinstance(model, StackedEstimator):
        return {}
    return {ALONE: model.networks_alone(series)}


def scores(metrics: Sequence[str], target: Any, prediction: Any, seed: int = 0) -> dict[str, ConfidenceInterval]:
    """Return figures of merit with their 95 % bootstrap intervals.

    Those that the test part does not define are left out: AUC and average precision where a class is absent, R²
    where all targets are equal.

    Args:
        metrics: names in `METRICS`.
        target: (n,) labels 0…C - 1, or values.
        prediction: (n, C) probabilities, or values.
        seed: of the resamples.
    """
    figures = {}
    for name in metrics:
        if METRICS[name].stratified and len(np.unique(target)) < np.shape(prediction)[1]:
            continue
        if name == "r2" and (len(target) < 2 or np.ptp(target, axis=0).min() == 0):
            continue
        figures[name] = bootstrap_interval(name, target, prediction, seed=seed)
    return figures
