"""Trees on a table of features: one model per fold, averaged for predictions and evaluated on the held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from liquidtime._checks import check_choice
from liquidtime.baselines.features.segments import Floats, Integers
from liquidtime.baselines.features.temperature import best_temperature, log_scores, tempered

Folds = Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]
KINDS = ("boosting", "extra trees")
SMALL = 2000
"""Number of rows below which trees are kept small or grown fully, by kind."""
MOST_CELLS = 4e6
"""Largest rows times columns for a forest with all its trees; larger tables use fewer trees to limit the work."""
TEMPERATURES = tuple(np.geomspace(0.25, 4.0, 33).tolist())
"""Temperatures to choose from."""
CHECKPOINTS = 25
"""Numbers of boosting rounds to choose from."""


class Trees(BaseEstimator):  # type: ignore[misc]
    """Gradient boosting or extremely randomised trees, fitted to the training rows of each fold; predicts their mean.

    The number of boosting rounds is that with the smallest held-out loss; the probabilities of a classifier are
    calibrated by the temperature with the smallest held-out loss.

    Args:
        kind: "boosting" or "extra trees".
        task: "classify" or "regress".
        random_state: random seed of the trees.
        careful: slower boosting of smaller trees, for many rows that are nearly redundant, such as samples of a series.

    Attributes:
        classes_: (K,) the classes, for "classify".
        out_of_fold_: (n, K) probabilities or (n,) values of the training rows, from the member that was not fitted to
            them; NaN for rows in no fold.
        rounds_: chosen number of boosting rounds.
    """

    def __init__(
        self, kind: str = "boosting", task: str = "classify", random_state: int = 0, careful: bool = False
    ) -> None:
        self.kind = kind
        self.task = task
        self.random_state = random_state
        self.careful = careful

    def fit(
        self,
        X: npt.NDArray[np.floating[Any]],
        y: Any,
        folds: Folds,
        weights: Floats | None = None,
        counts: Sequence[Floats] | None = None,
    ) -> Trees:
        """Fit one member per fold.

        Args:
            X: (n, p) features, NaN where undefined.
            y: (n,) classes or values.
            folds: (training rows, held-out rows); each row is held out at most once.
            weights: (n,) weight of each row; None for equal weights.
            counts: weights of the training rows of each fold for growing trees; None for `weights`.
        """
        check_choice("kind", self.kind, KINDS)
        check_choice("task", self.task, ("classify", "regress"))
        target = np.asarray(y)
        codes: npt.NDArray[Any]
        if self.task == "classify":
            self.classes_, codes = np.unique(target, return_inverse=True)
        else:
            codes = target.astype(np.float64)
        self.members_: list[tuple[Integers, Any]] = []
        self.filling_ = _filling(X) if self.kind == "extra trees" else np.empty(0)
        for number, (rows, _) in enumerate(folds):
            columns = np.flatnonzero(~np.isnan(X[rows]).all(axis=0))  # trees do not accept a column without numbers
            model = self._model(len(rows), len(columns), number)
            each = None if weights is None else weights[rows]
            model.fit(self._table(X[rows], columns), codes[rows], each if counts is None else counts[number])
            self.members_.append((columns, model))
        paths = np.full((self._checkpoints(len(X)).size, len(X), self._width()), np.nan)
        for member, (_, held_out) in zip(self.members_, folds, strict=True):
            for place, predictions in enumerate(self._path(member, X[held_out], self._checkpoints(len(X)))):
                paths[place, held_out] = predictions
        self._choose(paths, codes, weights)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Return (n, K) probabilities."""
        return tempered(log_scores(self._mean(X)), self.temperature_)

    def predict(self, X: Floats) -> npt.NDArray[Any]:
        """Return (n,) classes or values."""
        mean = self._mean(X)
        if self.task == "regress":
            return mean[:, 0]
        classes: npt.NDArray[Any] = self.classes_[mean.argmax(axis=1)]
        return classes

    def _width(self) -> int:
        return len(self.classes_) if self.task == "classify" else 1

    def _choose(self, paths: Floats, codes: npt.NDArray[Any], weights: Floats | None) -> None:
        known = ~np.isnan(paths[0, :, 0])
        each = None if weights is None else weights[known]
        best = np.inf
        for rounds, path in zip(self._checkpoints(len(codes)), paths, strict=True):
            if self.task == "regress":
                loss = float(np.average((path[known, 0] - codes[known]) ** 2, weights=each))
                temperature, answer = 1.0, path[:, 0]
            else:
                loss, temperature = best_temperature(log_scores(path[known]), codes[known], TEMPERATURES, each)
                answer = tempered(log_scores(path), temperature)
            if loss < best:
                best, self.rounds_, self.temperature_, self.out_of_fold_ = loss, int(rounds), temperature, answer

    def _mean(self, X: Floats) -> Floats:
        last = np.array([self.rounds_])
        parts = [next(self._path(member, X, last)) for member in self.members_]
        mean: Floats = np.mean(parts, axis=0)
        return mean

    def _path(
        self, member: tuple[Integers, Any], X: npt.NDArray[np.floating[Any]], checkpoints: Integers
    ) -> Iterator[Floats]:
        """Yield (n, K) predictions of one member after each number of rounds."""
        columns, model = member
        table = self._table(X, columns)
        if self.kind == "extra trees":
            yield self._whole(model, model.predict_proba(table) if self.task == "classify" else model.predict(table))
            return
        staged = model.staged_predict_proba(table) if self.task == "classify" else model.staged_predict(table)
        done = 0
        for rounds in checkpoints:
            prediction = next(islice(staged, int(rounds) - done - 1, None))
            done = int(rounds)
            yield self._whole(model, prediction)

    def _whole(self, model: Any, prediction: Floats) -> Floats:
        """Return (n, K) with a column for every class, including those that the member has not seen."""
        if self.task == "regress":
            return prediction[:, None]
        whole = np.zeros((len(prediction), self._width()))
        whole[:, model.classes_] = prediction
        return whole

    def _table(self, X: npt.NDArray[Any], columns: Integers) -> npt.NDArray[Any]:
        table = X[:, columns]
        return table if self.kind == "boosting" else np.where(np.isnan(table), self.filling_[columns], table)

    def _checkpoints(self, n: int) -> Integers:
        if self.kind == "extra trees":
            return np.ones(1, dtype=np.int64)
        most = self._rounds()
        return np.unique(np.rint(np.geomspace(10, most, CHECKPOINTS)).astype(np.int64))

    def _rounds(self) -> int:
        """Return the largest number of rounds; many classes grow many trees per round and need fewer rounds."""
        return 300 if self._width() <= 2 else 120

    def _model(self, n: int, p: int, number: int) -> Any:
        seed = self.random_state * 1000 + number
        classify, few = self.task == "classify", n < SMALL
        if self.kind == "extra trees":
            forest = ExtraTreesClassifier if classify else ExtraTreesRegressor
            share = min(1.0, MOST_CELLS / max(n * p, 1))
            return forest(
                300 if few else max(50, round(200 * share)),
                max_features=min(0.3, 100 / max(p, 1)),
                min_samples_leaf=1 if few else 3,
                random_state=seed,
            )
        boosting = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
        rate = 0.05 if self._width() <= 2 else 0.1
        return boosting(
            max_iter=self._rounds(),
            learning_rate=0.6 * rate if self.careful else rate,
            max_features=min(1.0, max(0.2, 16 / max(p, 1))),
            max_leaf_nodes=8 if self.careful or few else 16,
            min_samples_leaf=50 if self.careful else 5 if few else 20,
            early_stopping=False,
            random_state=seed,
        )


def filled(X: Floats) -> Floats:
    """Return (n, p) a table for trees that do not accept NaN: replaced by a number below all others of the column."""
    return np.where(np.isnan(X), _filling(X), X)


def _filling(X: npt.NDArray[np.floating[Any]]) -> Floats:
    """Return (p,) the replacements for NaN in trees that do not accept it: below all known values, by their range."""
    known = ~np.isnan(X)
    low = np.where(known, X, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, X, -np.inf).max(axis=0, initial=-np.inf)
    some = known.any(axis=0)
    return np.where(some, low - 0.1 * (high - low) - 1.0, 0.0)
