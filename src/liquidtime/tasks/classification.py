from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.classical import Guess, SummaryBoosting
from liquidtime.data import SeriesSet, check_classes
from liquidtime.data.reading.columns import label_of
from liquidtime.estimators import CfCClassifier, StackedClassifier
from liquidtime.estimators.faces.threshold import check_two_classes, read_threshold
from liquidtime.tasks.comparison import BOOSTING, Comparison, compared, networks_alone
from liquidtime.tasks.per_sample import of_samples
from liquidtime.tasks.prediction_table import Columns
from liquidtime.tasks.row_times import rows_of_samples
from liquidtime.tasks.series_view import SeriesView, evolution_of, extremes
from liquidtime.tasks.task import Part, Task

_FEW = 20
"""Largest number of different whole numbers that are taken as classes, if each occurs twice on average."""


class Classification(Task):
    """One of two or more classes per series."""

    name: ClassVar = "classify"
    title: ClassVar = "Classification"
    estimators: ClassVar = (CfCClassifier, StackedClassifier)
    stacked: ClassVar = StackedClassifier
    settings: ClassVar = {"per_step": False}
    metrics: ClassVar = ("auc", "average_precision", "accuracy", "log_loss", "brier")
    plots: ClassVar = ("roc", "precision_recall", "calibration")
    options: ClassVar = ("threshold",)

    def suggested_by(self, target: Any) -> str:  # noqa: D102
        return "" if target is None or of_samples(target) else suggests_classes(np.asarray(target))

    def check_target(self, target: Any, S: int) -> npt.NDArray[Any]:  # noqa: D102
        return check_classes(target, S)

    def check_estimator(self, model: Any) -> None:
        """Refuse classes per sample, which are another task."""
        if getattr(model, "per_step", False):
            raise ValueError("`per_step` is not for this task, which has one class per series; give one per sample")

    def strata(self, target: Any) -> npt.NDArray[Any]:
        """Return the classes: both parts get their share of each."""
        return np.asarray(target)

    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> Comparison:
        """Compare probabilities with those of gradient boosting and of the share of each class.

        Raises:
            ValueError: the test part has a class that the model does not know.

        """
        data, y = test
        target = codes_of(y, model.classes_)
        series = model.encode(data)
        predictions = {name: model.predict_proba(series), **networks_alone(model, series)}
        if train is not None:
            predictions[BOOSTING] = SummaryBoosting(self.name, seed).fit(*train).predict_proba(data)
            predictions["guess (share of each class)"] = Guess(self.name).fit(*train).predict_proba(data)
        extras = decisions_of(model, predictions[name])
        return compared(self.metrics, target, predictions, series, seed, model.classes_, extras=extras)

    def predict(self, model: Any, data: SeriesSet, *, threshold: Any = None, **options: Any) -> Columns:
        """Return the class, by the model's threshold or the `threshold` argument, and the probability of each class."""
        return {"": data.ids, **probability_columns(model, model.predict_proba(data), threshold_of(model, threshold))}

    def predict_each_sample(  # noqa: D102
        self, model: Any, data: SeriesSet, *, threshold: Any = None, **options: Any
    ) -> Columns:
        evolution = model.evolve(data)
        columns = probability_columns(model, evolution.outputs, threshold_of(model, threshold))
        return {**rows_of_samples(data, evolution), **columns}

    def tested(self, model: Any, comparison: Comparison) -> Columns:  # noqa: D102
        assert comparison.series is not None
        columns = probability_columns(model, comparison.predictions[comparison.name])
        return {"": comparison.series.data.ids, "truth": model.classes_[comparison.target], **columns}

    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return series with the probability of class 1 of two, or of every class of more, over time."""
        assert comparison.series is not None
        probabilities, target = comparison.predictions[comparison.name], comparison.target
        data = comparison.series.data
        kinds, rows = extremes(1.0 - probabilities[np.arange(len(target)), target], data.lengths, target)
        evolution = evolution_of(model, comparison.series[rows]) if rows else None
        names = [str(label) for label in model.classes_]
        views = []
        for place, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
            assert evolution is not None
            one, code = data[row], int(target[row])
            steps = slice(evolution.offsets[place], evolution.offsets[place + 1])
            outcome = f"truth {names[code]}, with probability at the end {probabilities[row, code]:.2f}"
            two = len(names) == 2
            views.append(
                SeriesView(
                    kind, str(one.id), outcome, one.times, one.values, data.channels, evolution.times[steps],
                    evolution.outputs[steps, 1] if two else evolution.outputs[steps],
                    truth=float(code) if two else None,
                    labels=() if two else tuple(names),
                    bounds=(0.0, 1.0),
                )
            )  # fmt: skip
        return views


def suggests_classes(labels: npt.NDArray[Any]) -> str:
    """Return the reason why labels look like classes, as text; "" if they do not."""
    if labels.dtype.kind == "b":
        return "the targets are truth values"
    if labels.dtype.kind in "OUS" and not all(isinstance(label, int | float) for label in labels.ravel().tolist()):
        return "the targets are texts"
    if labels.dtype.kind in "iuO" and labels.ndim == 1:
        classes = set(labels.tolist())
        if all(isinstance(label, int) for label in classes) and len(classes) <= min(_FEW, len(labels) / 2):
            return f"the targets are {len(classes)} different whole numbers"
    return ""


def probability_columns(
    model: Any, probabilities: npt.NDArray[np.float64], threshold: float | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a table of classes: the decision, then the probability of each class.

    Args:
        model: fitted classifier.
        probabilities: (n, C) probabilities.
        threshold: threshold; None for that of the model.
    """
    columns = {"prediction": model.decide(probabilities, threshold)}
    for place, label in enumerate(model.classes_):
        columns[f"probability_{label}"] = probabilities[:, place]
    return columns


def decisions_of(model: Any, probabilities: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[Any]]:
    """Return the decisions 0 or 1 of a model with a threshold, for `Comparison.extras`; nothing for other models."""
    if model.threshold_ is None:
        return {}
    return {"decision": (probabilities[:, 1] >= model.threshold_).astype(np.int64)}


def threshold_of(model: Any, threshold: Any) -> float | None:
    """Return the threshold that a prediction was called with, or refuse it; None if there is none."""
    number = read_threshold(threshold)
    if number is not None and not isinstance(number, float):
        raise ValueError(
            f"`threshold` must be a number between 0 and 1 to predict with; {threshold!r} is chosen in training"
        )
    check_two_classes(number, len(model.classes_))
    return number


def codes_of(y: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the position of each label among sorted classes; whole numbers and their texts are the same label.

    Args:
        y: (n,) labels.
        classes: (C,) sorted classes.

    Raises:
        ValueError: a label is not one of the classes.

    """
    labels = np.asarray(y)
    places = {label_of(label): place for place, label in enumerate(classes.tolist())}
    codes = np.array([places.get(label_of(label), -1) for label in labels.tolist()], dtype=np.int64)
    if (codes < 0).any():
        strange = labels[codes < 0].tolist()
        raise ValueError(
            f"`target` must have classes that the model knows ({', '.join(list(places)[:10])}); {len(strange)} of "
            f"{len(labels)} labels are not among them, the first is {strange[0]!r}"
        )
    return codes
