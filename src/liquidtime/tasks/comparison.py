"""A model and the baselines on the same test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.tasks.figure_table import Figures, as_html, as_text, rows_of
from liquidtime.training import METRICS, ConfidenceInterval, bootstrap_interval, mean_interval
from liquidtime.training.metrics import DECISIONS

if TYPE_CHECKING:
    from liquidtime.estimators.faces.encoded_series import EncodedSeries

BOOSTING, ALONE = "gradient boosting on summary features", "CfC networks alone"
_MANY, _FEWER = 20_000, 400
"""Number of rows from which fewer resamples are drawn, because they are as informative."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The predictions and figures of several models on one test part; printed as a table.

    Args:
        target: (n,) labels 0…C - 1, or (n,) or (n, K) values.
        predictions: (n, C) probabilities or values shaped as the target, by model; the tested model first.
        figures: figures with 95 % confidence intervals, by model and metric.
        classes: the C classes; empty for values.
        series: the S test series as the tested model read them; None if they are not stored.
        clusters: (n,) series or group of each row, if rows are not independent; None if they are.
        extras: further results of the tested model, each with n rows: "decision" (n,) 0 or 1, its decisions by a
            threshold; "low" and "high", shaped as the target, the ends of its prediction intervals; "place" (n,) the
            position of the sample, if rows are samples.
        coverage: share of targets that the intervals should contain.
        errors: by metric and model, (S,) the mean over the values of each series, if figures are means of these; empty
            if figures are computed from all rows together.
        error_series: (S,) test series of each of these errors; None if there are none.
        error_groups: (S,) number of the group of each; None if series are independent.
    """

    target: npt.NDArray[Any]
    predictions: Mapping[str, npt.NDArray[np.float64]]
    figures: Figures
    classes: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))
    series: EncodedSeries | None = None
    clusters: npt.NDArray[Any] | None = None
    extras: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    coverage: float = 0.9
    errors: Mapping[str, Mapping[str, npt.NDArray[np.float64]]] = field(default_factory=dict)
    error_series: npt.NDArray[np.int64] | None = None
    error_groups: npt.NDArray[np.int64] | None = None

    @property
    def name(self) -> str:
        """Name of the tested model."""
        return next(iter(self.figures))

    def plain(self) -> Comparison:
        """Return the figures and predictions without the series."""
        return Comparison(
            self.target, self.predictions, self.figures, self.classes, None, self.clusters, self.extras, self.coverage,
            self.errors, self.error_series, self.error_groups,
        )  # fmt: skip

    def details(self) -> list[dict[str, Any]]:
        """Return further figures as rows of a table; none if the task has no others."""
        return []

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
    series: EncodedSeries | None,
    seed: int,
    classes: Sequence[Any] | npt.NDArray[Any] = (),
    clusters: npt.NDArray[Any] | None = None,
    extras: Mapping[str, npt.NDArray[Any]] | None = None,
    coverage: float = 0.9,
) -> Comparison:
    """Return the comparison of predictions, with the figures of each.

    Args:
        metrics: names in `METRICS`.
        target: (n,) labels 0…C - 1, or values.
        predictions: (n, C) probabilities or values by model; the tested model first.
        series: test series.
        seed: random seed of the bootstrap.
        classes: the C classes.
        clusters: see `Comparison`.
        extras: see `Comparison`.
        coverage: see `Comparison`.
    """
    figures = {name: scores(metrics, target, prediction, seed, clusters) for name, prediction in predictions.items()}
    more, own = extras or {}, next(iter(predictions))
    if "decision" in more:
        decided = np.eye(2)[more["decision"].astype(np.int64)]
        figures[own] |= scores(list(DECISIONS), target, decided, seed, clusters)
    if "low" in more:
        inside = ((more["low"] <= target) & (target <= more["high"])).reshape(len(target), -1).mean(axis=1)
        figures[own][f"coverage_{100 * coverage:g}"] = mean_interval(inside, seed=seed, clusters=clusters, share=True)
    return Comparison(target, predictions, figures, np.asarray(classes), series, clusters, more, coverage)


def figures_of(errors: Mapping[str, Mapping[str, Any]], seed: int, groups: Any = None) -> Figures:
    """Return the means of errors of single series, by model and metric, with intervals over series or their groups.

    Args:
        errors: see `Comparison`.
        seed: random seed of the bootstrap.
        groups: (S,) group of each series; None if they are independent.
    """
    figures: dict[str, dict[str, ConfidenceInterval]] = {}
    for metric, by_model in errors.items():
        for model, each in by_model.items():
            figures.setdefault(model, {})[metric] = mean_interval(
                each, seed=seed, clusters=groups, share=metric.startswith("coverage")
            )
    return figures


def pooled_errors(parts: Sequence[Comparison], seed: int) -> Comparison:
    """Combine several comparisons whose figures are means over series into one, without the series.

    Args:
        parts: comparisons of the same models on different series.
        seed: random seed of the bootstrap.
    """
    first = parts[0]
    errors = {
        metric: {model: np.concatenate([part.errors[metric][model] for part in parts]) for model in by_model}
        for metric, by_model in first.errors.items()
    }
    groups = None if first.error_groups is None else np.concatenate([part.error_groups for part in parts])
    return Comparison(
        np.concatenate([part.target for part in parts]),
        {name: np.concatenate([part.predictions[name] for part in parts]) for name in first.predictions},
        figures_of(errors, seed, groups),
        coverage=first.coverage,
        errors=errors,
        error_groups=groups,
    )


def pooled(metrics: Sequence[str], parts: Sequence[Comparison], seed: int, clusters: Any = None) -> Comparison:
    """Combine several comparisons of different rows into one, without the series; figures are for all rows together.

    Args:
        metrics: names in `METRICS`.
        parts: comparisons of the same models and classes.
        seed: random seed of the bootstrap.
        clusters: (n,) series or group of each row; None for those of the parts.
    """
    first = parts[0]
    if clusters is None and first.clusters is not None:
        sizes = np.cumsum([0, *(int(part.clusters.max()) + 1 for part in parts)])  # type: ignore[union-attr]
        clusters = np.concatenate([part.clusters + start for part, start in zip(parts, sizes[:-1], strict=True)])
    return compared(
        metrics,
        np.concatenate([part.target for part in parts]),
        {name: np.concatenate([part.predictions[name] for part in parts]) for name in first.predictions},
        None,
        seed,
        first.classes,
        clusters,
        {name: np.concatenate([part.extras[name] for part in parts]) for name in first.extras},
        first.coverage,
    )


def networks_alone(model: Any, series: Any) -> dict[str, npt.NDArray[np.float64]]:
    """Return the predictions of the networks of a stacked model, by their title in tables; nothing for other models.

    Args:
        model: fitted model.
        series: series as the model reads them.
    """
    if not isinstance(model, StackedEstimator):
        return {}
    return {ALONE: model.networks_alone(series)}


def scores(
    metrics: Sequence[str], target: Any, prediction: Any, seed: int = 0, clusters: Any = None
) -> dict[str, ConfidenceInterval]:
    """Return figures with their 95 % bootstrap intervals.

    Figures that are undefined on the test part are left out: AUC and average precision if a class is absent, R² if all
    targets are equal.

    Args:
        metrics: names in `METRICS`.
        target: (n,) labels 0…C - 1, or values.
        prediction: (n, C) probabilities, or values.
        seed: random seed of the bootstrap.
        clusters: (n,) cluster of each row; None if rows are independent.
    """
    figures: dict[str, ConfidenceInterval] = {}
    resamples = 2000 if len(target) < _MANY else _FEWER
    for name in metrics:
        if METRICS[name].stratified and len(np.unique(target)) < np.shape(prediction)[1]:
            continue
        if name == "r2" and (len(target) < 2 or np.ptp(target, axis=0).min() == 0):
            continue
        figures[name] = bootstrap_interval(name, target, prediction, seed=seed, resamples=resamples, clusters=clusters)
    return figures
