from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier

from liquidtime.baselines.features import RunningFeatures
from liquidtime.data import SeriesSet
from liquidtime.data.container import sample_times
from liquidtime.estimators import CfCClassifier, StackedStepClassifier
from liquidtime.estimators.faces.class_labels import sample_labels
from liquidtime.tasks.classification import codes_of, decisions_of, probability_columns, suggests_classes, threshold_of
from liquidtime.tasks.comparison import Comparison, compared, networks_alone
from liquidtime.tasks.per_sample import by_series, of_samples
from liquidtime.tasks.prediction_table import Columns
from liquidtime.tasks.series_view import SeriesView, extremes
from liquidtime.tasks.task import Part, Task

BOOSTING, GUESS = "gradient boosting on running features", "guess (share of each class)"
_ROUNDS, _MOST_ROWS = 150, 60_000


class SampleClassification(Task):
    """One of two or more classes per sample, predicted from the samples up to it."""

    name: ClassVar = "classify-samples"
    title: ClassVar = "Classification of every sample"
    estimators: ClassVar = (CfCClassifier, StackedStepClassifier)
    stacked: ClassVar = StackedStepClassifier
    settings: ClassVar = {"per_step": True}
    metrics: ClassVar = ("auc", "average_precision", "accuracy", "log_loss", "brier")
    takes_auxiliary: ClassVar = False
    per_sample: ClassVar = True
    unit: ClassVar = "a prediction for every sample"
    plots: ClassVar = ("roc", "precision_recall", "calibration")
    options: ClassVar = ("threshold",)

    def suggested_by(self, target: Any) -> str:  # noqa: D102
        if not of_samples(target):
            return ""
        flat = np.concatenate([np.asarray(part) for part in target])
        known = np.array([item for item in flat.tolist() if item is not None and item == item])
        reason = suggests_classes(known)
        return f"there is one target per sample, and {reason}" if reason else ""

    def bring(self, target: Any, data: SeriesSet) -> Any:  # noqa: D102
        return by_series(target, data)

    def check_target(self, target: Any, S: int) -> npt.NDArray[Any]:  # noqa: D102
        if not of_samples(target) or len(target) != S:
            raise ValueError(
                f"`target` must have one class per sample to classify samples: {S} arrays, or one array of all samples"
            )
        return np.asarray(target)

    def strata(self, target: Any) -> npt.NDArray[Any]:
        """Return the rarest class of each series, so that both parts get their share of the series that have it."""
        labels, counts = np.unique(np.concatenate([part.astype(str) for part in target]), return_counts=True)
        rank = dict(zip(labels.tolist(), np.argsort(np.argsort(-counts)).tolist(), strict=True))
        rarest = np.array([max((rank[label] for label in part.astype(str).tolist()), default=0) for part in target])
        few, sizes = np.unique(rarest, return_counts=True)
        rarest[np.isin(rarest, few[sizes < 2])] = few[sizes.argmax()]
        return rarest

    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> Comparison:
        """Compare probabilities with those of boosting on running features and with the share of each class.

        Figures are for all samples whose class is known, and their intervals resample whole series.
        """
        data, y = test
        labels, known = sample_labels(y, data)
        target = codes_of(labels[known], model.classes_)
        series = model.encode(data)
        predictions = {name: model.predict_proba(series)[known]}
        predictions |= {alone: said[known] for alone, said in networks_alone(model, series).items()}
        if train is not None:
            predictions |= {rival: said[known] for rival, said in _rivals(train, data, model.classes_, seed).items()}
        owners = np.repeat(np.arange(len(data)), data.lengths)[known]
        extras = {"place": np.flatnonzero(known), **decisions_of(model, predictions[name])}
        return compared(self.metrics, target, predictions, series, seed, model.classes_, owners, extras)

    def predict(self, model: Any, data: SeriesSet, *, threshold: Any = None, **options: Any) -> Columns:
        """Return one row per sample: its id and time, the class and the probability of each class."""
        chances = model.predict_proba(data)
        return {**_rows(data), **probability_columns(model, chances, threshold_of(model, threshold))}

    def predict_each_sample(self, model: Any, data: SeriesSet, **options: Any) -> Columns:
        """Return the result of `predict`, which has every sample anyway."""
        return self.predict(model, data, **options)

    def tested(self, model: Any, comparison: Comparison) -> Columns:
        """Return one row per sample whose class is known."""
        assert comparison.series is not None
        series = comparison.series
        chances = model.predict_proba(series)
        columns = {**_rows(series.data), **probability_columns(model, chances)}
        known = _places(comparison)
        rows = {name: np.asarray(column)[known] for name, column in columns.items()}
        place = {"": rows.pop(""), "time": rows.pop("time")}
        return {**place, "truth": model.classes_[comparison.target], **rows}

    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return series with the probability of class 1 of two and the truth, or that of every class, over time."""
        assert comparison.series is not None
        data, target = comparison.series.data, comparison.target
        own = comparison.predictions[comparison.name]
        chances = model.predict_proba(comparison.series)
        known = _places(comparison)
        owners = np.repeat(np.arange(len(data)), data.lengths)
        missed = np.bincount(owners[known], 1.0 - own[np.arange(len(target)), target], len(data))
        counts = np.bincount(owners[known], minlength=len(data))
        truth = np.full(len(owners), np.nan)
        truth[known] = target
        most = np.zeros(len(data), dtype=np.int64)
        np.maximum.at(most, owners[known], target)
        kinds, rows = extremes(missed / np.maximum(counts, 1), counts, most)
        names, views = [str(label) for label in model.classes_], []
        for kind, row in zip(kinds, rows, strict=True):
            one, steps = data[row], slice(data.offsets[row], data.offsets[row + 1])
            two = len(names) == 2
            lines = np.stack([chances[steps, 1], truth[steps]], axis=1) if two else chances[steps]
            labels = (f"probability of {names[1]}", "truth") if two else tuple(names)
            words = f"mean probability of the true class {1.0 - missed[row] / max(counts[row], 1):.2f}"
            views.append(
                SeriesView(
                    kind, str(one.id), words, one.times, one.values, data.channels, one.times, lines,
                    labels=labels, bounds=(0.0, 1.0),
                )
            )  # fmt: skip
        return views


def _places(comparison: Comparison) -> npt.NDArray[np.int64]:
    """Return the samples that the rows of a comparison stand for: those whose class is known."""
    return comparison.extras["place"]


def _rows(data: SeriesSet) -> dict[str, Any]:
    """Return the id and the time of every sample."""
    owners = np.repeat(np.arange(len(data)), data.lengths)
    return {"": data.ids[owners], "time": sample_times(data)}


def _rivals(train: Part, data: SeriesSet, classes: npt.NDArray[Any], seed: int) -> dict[str, npt.NDArray[np.float64]]:
    """Return (N, C) the probabilities of baselines that are fitted to the same training part."""
    series, y = train
    labels, known = sample_labels(y, series)
    codes = codes_of(labels[known], classes)
    rows = np.flatnonzero(known)
    if len(rows) > _MOST_ROWS:
        kept = np.sort(np.random.default_rng(seed).choice(len(rows), _MOST_ROWS, replace=False))
        rows, fitted = rows[kept], codes[kept]
    else:
        fitted = codes
    features = RunningFeatures().fit(series)
    table = features.transform(series)[rows]
    some = ~np.isnan(table).all(axis=0)
    trees = HistGradientBoostingClassifier(
        max_iter=_ROUNDS, learning_rate=0.05, early_stopping=False, random_state=seed
    )
    trees.fit(table[:, some], fitted)
    chances = np.zeros((len(data.times), len(classes)))
    chances[:, trees.classes_] = trees.predict_proba(features.transform(data)[:, some])
    share = np.bincount(codes, minlength=len(classes)) / len(codes)
    return {BOOSTING: chances, GUESS: np.tile(share, (len(chances), 1))}
