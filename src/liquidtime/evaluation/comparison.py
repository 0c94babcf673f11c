"""A model beside what else could have been taken, on the same test part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.classical import Guess, SummaryBoosting
from liquidtime.data import SeriesSet
from liquidtime.data.reading.columns import label_of
from liquidtime.estimators import CfCClassifier, CfCRegressor
from liquidtime.training import METRICS, Interval, bootstrap_interval

CLASSIFY = ("auc", "average_precision", "accuracy", "log_loss", "brier")
REGRESS = ("mae", "mse", "r2")
BOOSTING = "gradient boosting on summary features"


@dataclass(frozen=True, eq=False)
class Comparison:
    """What several models do on one test part.

    Args:
        target: (n,) labels 0…C - 1, or (n,) or (n, K) values.
        predictions: (n, C) probabilities or values shaped as the target, by model; ours first.
        figures: figures of merit with 95 % intervals, by model and metric.
        classes: the C classes; empty for values.
    """

    target: npt.NDArray[Any]
    predictions: Mapping[str, npt.NDArray[np.float64]]
    figures: Mapping[str, Mapping[str, Interval]]
    classes: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the figures by model and metric, ready for JSON."""
        return {
            model: {
                metric: {"value": found.value, "low": found.low, "high": found.high} for metric, found in row.items()
            }
            for model, row in self.figures.items()
        }


def scores(metrics: tuple[str, ...], target: Any, prediction: Any, seed: int = 0) -> dict[str, Interval]:
    """Return figures of merit with their 95 % bootstrap intervals.

    Those that the test part does not define are left out: AUC and average precision where a class is absent, R²
    where all targets are equal.

    Args:
        metrics: names in `METRICS`.
        target: (n,) labels 0…C - 1, or values.
        prediction: (n, C) probabilities, or values.
        seed: of the resamples.
    """
    found = {}
    for name in metrics:
        if METRICS[name].stratified and len(np.unique(target)) < np.shape(prediction)[1]:
            continue
        if name == "r2" and (len(target) < 2 or np.ptp(target, axis=0).min() == 0):
            continue
        found[name] = bootstrap_interval(name, target, prediction, seed=seed)
    return found


def compare(
    model: CfCClassifier | CfCRegressor,
    name: str,
    train: tuple[SeriesSet, Any] | None,
    test: tuple[SeriesSet, Any],
    seed: int = 0,
) -> Comparison:
    """Test a fitted model and, beside it, gradient boosting and a guess fitted to the same training part.

    Args:
        model: fitted to `train`.
        name: of the model in tables.
        train: the training part and its targets; None leaves the baselines out.
        test: the test part and its targets.
        seed: of the trees and the resamples.

    Raises:
        ValueError: the test part has a class that the model does not know.

    """
    data, y = test
    classify = isinstance(model, CfCClassifier)
    target = codes_of(y, model.classes_) if isinstance(model, CfCClassifier) else np.asarray(y, dtype=np.float64)
    task = "classify" if classify else "regress"
    predictions = {name: model.predict_proba(data) if isinstance(model, CfCClassifier) else model.predict(data)}
    if train is not None:
        guess = "guess (share of each class)" if classify else "guess (mean)"
        for label, other in ((BOOSTING, SummaryBoosting(task, seed)), (guess, Guess(task))):
            fitted = other.fit(*train)
            predictions[label] = fitted.predict_proba(data) if classify else fitted.predict(data).reshape(target.shape)
    metrics = CLASSIFY if classify else REGRESS
    figures = {label: scores(metrics, target, prediction, seed) for label, prediction in predictions.items()}
    return Comparison(target, predictions, figures, model.classes_ if classify else np.empty(0))


def codes_of(y: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the position of each label among sorted classes; whole numbers and their texts are the same label.

    Args:
        y: (n,) labels.
        classes: (C,) sorted.

    Raises:
        ValueError: a label that is none of the classes.

    """
    labels = np.asarray(y)
    places = {label_of(label): place for place, label in enumerate(classes.tolist())}
    codes = np.array([places.get(label_of(label), -1) for label in labels.tolist()], dtype=np.int64)
    if (codes < 0).any():
        strange = labels[codes < 0].tolist()
        raise ValueError(
            f"`target` must have classes that the model knows ({', '.join(list(places)[:10])}); {len(strange)} of "
            f"{len(labels)} labels are others, the first is {strange[0]!r}"
        )
    return codes
