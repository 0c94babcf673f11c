from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.classical import Guess, SummaryBoosting
from liquidtime.data import SeriesSet
from liquidtime.estimators import CfCMultiLabelClassifier
from liquidtime.estimators.faces.multi_label import checked_label_table
from liquidtime.tasks.comparison import BOOSTING, Comparison, scores
from liquidtime.tasks.prediction_table import Columns
from liquidtime.tasks.series_view import SeriesView, extremes
from liquidtime.tasks.task import Part, Task
from liquidtime.training import ConfidenceInterval

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class LabelComparison(Comparison):
    """The predictions and figures of several models for the labels of one test part.

    Args:
        labels: names of the K labels.
    """

    labels: tuple[str, ...] = ()

    def plain(self) -> LabelComparison:
        """Return the figures and predictions without the series."""
        return replace(self, series=None)


class MultiLabel(Task):
    """Which of several labels each series has."""

    name: ClassVar = "multi-label"
    title: ClassVar = "Labels"
    estimators: ClassVar = (CfCMultiLabelClassifier,)
    metrics: ClassVar = ("auc", "average_precision", "log_loss")
    takes_auxiliary: ClassVar = False
    several_targets: ClassVar = True

    def suggested_by(self, target: Any) -> str:
        """Return "", because columns of 0 and 1 may be numbers too."""
        return ""

    def check_target(self, target: Any, S: int) -> Floats:  # noqa: D102
        return checked_label_table(target, S)

    def strata(self, target: Any) -> npt.NDArray[Any]:
        """Return the strata of the series, so that both parts get their share of the rarest label."""
        shares = np.nanmean(target, axis=0)
        rare = int(np.argmin(np.minimum(shares, 1 - shares)))
        has = (target[:, rare] == 1).astype(np.int64)
        return has if min(has.sum(), len(has) - has.sum()) >= 2 else np.zeros(len(has), dtype=np.int64)

    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> Comparison:
        """Compare probabilities with those of gradient boosting and with the share of each label, label by label."""
        data, y = test
        series = model.encode(data)
        predictions = {name: model.predict_proba(series)}
        if train is not None:
            for rival, make in ((BOOSTING, lambda: SummaryBoosting("classify", seed)), ("guess (share)", Guess)):
                predictions[rival] = _columnwise(make, train, data)
        names = tuple(map(str, model.classes_))
        return _compared(np.asarray(y, dtype=np.float64), names, predictions, series, seed, self.metrics)

    def pool(self, comparisons: Sequence[Comparison], seed: int, clusters: Any = None) -> Comparison:  # noqa: D102
        target, first = np.concatenate([part.target for part in comparisons]), comparisons[0]
        assert isinstance(first, LabelComparison)
        models = first.predictions
        predictions = {name: np.concatenate([part.predictions[name] for part in comparisons]) for name in models}
        return _compared(target, first.labels, predictions, None, seed, self.metrics, clusters)

    def predict(self, model: Any, data: SeriesSet, **options: Any) -> Columns:
        """Return 1 or 0 and a probability for each label."""
        return {"": data.ids, **_columns(model.predict_proba(data), model.classes_)}

    def tested(self, model: Any, comparison: Comparison) -> Columns:  # noqa: D102
        assert comparison.series is not None
        truth = {f"truth_{name}": column for name, column in zip(model.classes_, comparison.target.T, strict=True)}
        own = comparison.predictions[comparison.name]
        return {"": comparison.series.data.ids, **truth, **_columns(own, model.classes_)}

    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return series with the probability of every label over time."""
        assert comparison.series is not None
        data, target = comparison.series.data, comparison.target
        missed = np.nanmean(np.abs(comparison.predictions[comparison.name] - target), axis=1)
        kinds, rows = extremes(np.nan_to_num(missed), data.lengths)
        evolution = model.evolve(comparison.series[rows]) if rows else None
        views = []
        for place, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
            assert evolution is not None
            one, steps = data[row], slice(evolution.offsets[place], evolution.offsets[place + 1])
            has = ", ".join(str(label) for label in model.classes_[target[row] == 1]) or "none"
            views.append(
                SeriesView(
                    kind, str(one.id), f"labels: {has}", one.times, one.values, data.channels, evolution.times[steps],
                    evolution.outputs[steps], labels=tuple(f"label {name}" for name in model.classes_),
                    bounds=(0.0, 1.0),
                )
            )  # fmt: skip
        return views


def _columns(chances: Floats, names: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    said = {
        f"prediction_{name}": (column >= 0.5).astype(np.int64) for name, column in zip(names, chances.T, strict=True)
    }
    return {**said, **{f"probability_{name}": column for name, column in zip(names, chances.T, strict=True)}}


def _compared(
    target: Floats,
    labels: tuple[str, ...],
    predictions: Mapping[str, Floats],
    series: Any,
    seed: int,
    metrics: Sequence[str],
    clusters: npt.NDArray[Any] | None = None,
) -> LabelComparison:
    """Return the comparison with the figures of every label, over the series for which it is known."""
    figures: dict[str, dict[str, ConfidenceInterval]] = {}
    for name, chances in predictions.items():
        figures[name] = {}
        for label, truth, chance in zip(labels, target.T, chances.T, strict=True):
            known = ~np.isnan(truth)
            owners = None if clusters is None else clusters[known]
            both = np.stack([1.0 - chance[known], chance[known]], axis=1)
            if known.any():
                found = scores(metrics, truth[known].astype(np.int64), both, seed, owners)
                figures[name] |= {f"{metric}_{label}": figure for metric, figure in found.items()}
    return LabelComparison(target, predictions, figures, series=series, clusters=clusters, labels=labels)


def _columnwise(make: Any, train: Part, data: SeriesSet) -> Floats:
    """Return the predictions of a baseline for each label, fitted to the series for which it is known."""
    series, y = train
    columns = []
    for truth in np.asarray(y, dtype=np.float64).T:
        known = np.flatnonzero(~np.isnan(truth))
        labels = truth[known].astype(np.int64)
        if len(np.unique(labels)) < 2:
            columns.append(np.full(len(data), float(labels.mean()) if len(labels) else 0.5))
        else:
            columns.append(make().fit(series[known], labels).predict_proba(data)[:, 1])
    return np.stack(columns, axis=1)
