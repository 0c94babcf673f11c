"""The targets of a stack, classes or values: how its parts are fitted, evaluated and weighted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features import blend_weights
from liquidtime.baselines.features.temperature import Calibration, fit_calibration, log_scores
from liquidtime.baselines.features.trees import TEMPERATURES
from liquidtime.estimators.stacking.folds import Folds
from liquidtime.estimators.stacking.target_scale import choose_scale, plain_scale

Floats = npt.NDArray[np.float64]
LEAST_WEIGHT = 0.01
"""A part below it is left out."""


class Goal(ABC):
    """The targets of S training series.

    Attributes:
        K: number of classes; 0 for values.
        rows: (S,) weight of each series; None for equal weights.
    """

    K: int
    rows: Floats | None = None

    def _counts(self, rows: Any) -> Floats | None:
        return None if self.rows is None else self.rows[rows]

    @abstractmethod
    def labels(self, rows: Any) -> npt.NDArray[Any]:
        """Return the targets of some series as a network is fitted to them."""

    def settle(self, X: Floats, folds: Folds, seed: int) -> None:  # noqa: B027
        """Choose, before anything is fitted, the scale on which parts are fitted and weighted; classes have none.

        Args:
            X: (S, p) features, NaN where undefined.
            folds: (training rows, held-out rows).
            seed: random seed.
        """

    @abstractmethod
    def columns(self) -> list[npt.NDArray[Any]]:
        """Return targets (S,), to each of which one learner is fitted, on the scale of the goal."""

    @abstractmethod
    def outputs(self, network: Any, X: Any) -> Floats:
        """Return (n, W) what fitted networks predict: W classes, also unknown ones, or values on the goal's scale."""

    @abstractmethod
    def figures(self, prediction: Floats) -> dict[str, float]:
        """Return the metrics of (S, W) out-of-fold predictions, beginning with the loss that decides the weights."""

    @abstractmethod
    def _weigh(self, predictions: Sequence[Floats], rows: Any) -> Floats:
        """Return the weights of least loss over some series."""

    def weights(self, predictions: Sequence[Floats], rows: Any = slice(None)) -> Floats:
        """Return (M,) non-negative weights that sum to one, none of them small.

        Args:
            predictions: M arrays (S, W), NaN for series that were not held out.
            rows: the series on which losses are computed; all of them by default.
        """
        weights = self._weigh([prediction[rows] for prediction in predictions], rows)
        large: Floats = np.where(weights < LEAST_WEIGHT, 0.0, weights)
        shares: Floats = large / large.sum()
        return shares

    def calibration(self, prediction: Floats) -> Calibration:
        """Return the calibration of (S, W) out-of-fold predictions; values have none."""
        return Calibration()

    def shares(self) -> Floats:
        """Return (K,) the shares of the classes; none for values."""
        return np.empty(0)


class Classes(Goal):
    """Classes 0…K - 1.

    Args:
        codes: (S,).
        classes: (K,) their names.
    """

    def __init__(self, codes: npt.NDArray[np.int64], classes: npt.NDArray[Any]) -> None:
        self.codes, self.classes, self.K = codes, classes, len(classes)

    def labels(self, rows: Any) -> npt.NDArray[Any]:  # noqa: D102
        labels: npt.NDArray[Any] = self.classes[self.codes[rows]]
        return labels

    def columns(self) -> list[npt.NDArray[Any]]:  # noqa: D102
        return [self.codes]

    def outputs(self, network: Any, X: Any) -> Floats:  # noqa: D102
        return spread_classes(network.predict_proba(X), network.classes_, self.classes)

    def figures(self, prediction: Floats) -> dict[str, float]:  # noqa: D102
        known = np.isfinite(prediction).all(axis=1)
        codes, chances = self.codes[known], prediction[known]
        own, counts = np.maximum(chances[np.arange(len(codes)), codes], 1e-12), self._counts(known)
        return {
            "log_loss": float(-np.average(np.log(own), weights=counts)),
            "accuracy": float(np.average(chances.argmax(axis=1) == codes, weights=counts)),
        }

    def _weigh(self, predictions: Sequence[Floats], rows: Any) -> Floats:
        return blend_weights(predictions, self.codes[rows], "log_loss", self._counts(rows))

    def calibration(self, prediction: Floats) -> Calibration:  # noqa: D102
        known = np.isfinite(prediction).all(axis=1)
        scores, counts = log_scores(prediction[known]), self._counts(known)
        return fit_calibration(scores, self.codes[known], self.shares(), TEMPERATURES, counts)[1]

    def shares(self) -> Floats:  # noqa: D102
        counts = np.bincount(self.codes, self.rows, minlength=self.K).astype(np.float64)
        shares: Floats = counts / counts.sum()
        return shares


class Values(Goal):
    """Numbers.

    Args:
        table: (S, W).
        single: whether there is one target, without an axis of its own.

    Attributes:
        scale: the scale on which parts are fitted and weighted.
    """

    K = 0

    def __init__(self, table: Floats, single: bool) -> None:
        self.table, self.single = table, single
        self.scale = plain_scale(table.shape[1])

    def settle(self, X: Floats, folds: Folds, seed: int) -> None:  # noqa: D102
        self.scale = choose_scale(X, self.table, folds, seed)

    def labels(self, rows: Any) -> npt.NDArray[Any]:  # noqa: D102
        values: Floats = self.table[rows, 0] if self.single else self.table[rows]
        return values

    def columns(self) -> list[npt.NDArray[Any]]:  # noqa: D102
        return list(self.scale.scaled(self.table).T)

    def outputs(self, network: Any, X: Any) -> Floats:  # noqa: D102
        values: Floats = network.predict(X)
        return self.scale.scaled(values.reshape(len(values), -1))

    def figures(self, prediction: Floats) -> dict[str, float]:  # noqa: D102
        known = np.isfinite(prediction).all(axis=1)
        errors, counts = self.scale.unscaled(prediction[known]) - self.table[known], self._counts(known)
        squared, absolute = (errors**2).mean(axis=1), np.abs(errors).mean(axis=1)
        return {
            "rmse": float(np.sqrt(np.average(squared, weights=counts))),
            "mae": float(np.average(absolute, weights=counts)),
        }

    def _weigh(self, predictions: Sequence[Floats], rows: Any) -> Floats:
        target = self.scale.scaled(self.table)
        deviation = target.std(axis=0)
        unit = np.where(deviation > 0, deviation, 1.0)
        scaled = [prediction / unit for prediction in predictions]
        return blend_weights(scaled, target[rows] / unit, "mse", self._counts(rows))


def spread_classes(chances: Floats, known: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Floats:
    """Return (n, K) probabilities of all classes from those of the known ones, 0 for the others.

    Args:
        chances: (n, C).
        known: (C,) some of the classes.
        classes: (K,) sorted.
    """
    whole = np.zeros((len(chances), len(classes)))
    whole[:, np.searchsorted(classes, known)] = chances
    return whole
