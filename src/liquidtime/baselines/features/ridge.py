"""Ridge regression on many features, with penalty and temperature chosen by exact out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from liquidtime._checks import check_choice
from liquidtime.baselines.features.segments import Floats
from liquidtime.baselines.features.temperature import best_temperature, tempered

Rows = npt.NDArray[np.int64]
PENALTIES = tuple(10.0**power for power in np.arange(-4.0, 2.01, 0.5))
"""Penalties, in units of the mean eigenvalue of the Gram matrix of the features."""
TEMPERATURES = tuple(np.geomspace(0.02, 2.0, 48).tolist())
"""Temperatures by which scores of 0 to 1 are divided before the softmax."""


class Ridge(BaseEstimator):  # type: ignore[misc]
    """Ridge regression on standardised features; for classes, on one column of 0 and 1 per class.

    Leaving a fold out of a ridge regression has a closed form, so the penalty, and the temperature that turns the
    scores of a classifier into probabilities, are chosen by held-out loss at the cost of a single decomposition.

    Args:
        task: "classify" or "regress".

    Attributes:
        classes_: (K,) the classes, for "classify".
        out_of_fold_: (n, K) probabilities or (n,) values of the training rows, each predicted without its fold.
        penalty_: the chosen penalty.
    """

    def __init__(self, task: str = "classify") -> None:
        self.task = task

    def fit(
        self, X: npt.NDArray[Any], y: Any, folds: Sequence[tuple[Rows, Rows]], weights: Floats | None = None
    ) -> Ridge:
        """Fit.

        Args:
            X: (n, p) features, finite.
            y: (n,) classes or values.
            folds: (training rows, held-out rows); each row is held out at most once.
            weights: (n,) weight of each row; None for equal weights.
        """
        check_choice("task", self.task, ("classify", "regress"))
        target = np.asarray(y)
        if self.task == "classify":
            self.classes_, codes = np.unique(target, return_inverse=True)
            goal = np.eye(len(self.classes_))[codes]
        else:
            codes, goal = None, target.astype(np.float64)[:, None]
        # a row of weight w is the row times sqrt(w); tiny weights are raised so that they can be divided by
        root = np.ones((len(X), 1)) if weights is None else np.sqrt(np.maximum(weights / weights.mean(), 1e-6))[:, None]
        share_of = root**2 / (root**2).sum()
        self.mean_, scale = np.average(X, axis=0, weights=root[:, 0] ** 2), X.std(axis=0, dtype=np.float64)
        self.scale_ = np.where(scale > 1e-8, scale, np.inf)
        Z = (root * ((X - self.mean_) / self.scale_)).astype(np.float32)
        self.offset_ = (share_of * goal).sum(axis=0)
        left, eigenvalues, right = _decomposed(Z)
        unit = float(eigenvalues.sum()) / len(Z) if len(eigenvalues) else 1.0
        best = np.inf
        for share in PENALTIES:
            penalty = share * max(unit, 1e-12)
            held_out = _held_out(left, eigenvalues, penalty, goal, self.offset_, folds, root)
            loss, temperature, predictions = _judged(held_out, goal, codes, share_of[:, 0])
            if loss < best:
                best, self.penalty_, self.temperature_, self.out_of_fold_ = loss, penalty, temperature, predictions
        slopes = np.sqrt(eigenvalues) / (eigenvalues + self.penalty_)
        self.weights_ = right @ (slopes[:, None] * (left.T @ (root * (goal - self.offset_))))
        return self

    def predict_proba(self, X: npt.NDArray[Any]) -> Floats:
        """Return (n, K) probabilities."""
        return tempered(self._scores(X), self.temperature_)

    def predict(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return (n,) classes or values."""
        scores = self._scores(X)
        if self.task == "regress":
            return scores[:, 0]
        classes: npt.NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return classes

    def _scores(self, X: npt.NDArray[Any]) -> Floats:
        scores: Floats = ((X - self.mean_) / self.scale_) @ self.weights_ + self.offset_
        return scores


def _decomposed(Z: npt.NDArray[np.float32]) -> tuple[Floats, Floats, Floats]:
    """Return U, s², V of Z = U diag(s) V^T, from the smaller of the two Gram matrices, without the null space."""
    wide = Z.shape[1] > Z.shape[0]
    gram = (Z @ Z.T if wide else Z.T @ Z).astype(np.float64)
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > max(1e-6 * eigenvalues[-1], 1e-12) if len(eigenvalues) else np.zeros(0, dtype=np.bool_)
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]
    other = (Z.T if wide else Z) @ (vectors / np.sqrt(eigenvalues)).astype(np.float32)
    return (
        (vectors, eigenvalues, other.astype(np.float64)) if wide else (other.astype(np.float64), eigenvalues, vectors)
    )


def _held_out(
    left: Floats,
    eigenvalues: Floats,
    penalty: float,
    goal: Floats,
    offset: Floats,
    folds: Sequence[tuple[Rows, Rows]],
    root: Floats,
) -> Floats:
    """Return (n, K) predictions of each row by the ridge regression without its fold; NaN for rows in no fold.

    With the hat matrix H (including the intercept), the held-out residuals of a fold B that is held out from all other
    rows are (I - H_BB)^-1 times those of the fit to all rows. For a fold that is held out from fewer rows, such as only
    earlier ones, a separate regression on the principal components is computed.
    """
    shrinkage = eigenvalues / (eigenvalues + penalty)
    fitted = (left * shrinkage) @ (left.T @ (root * (goal - offset)))  # of rows times root, without the offset
    predictions = np.full_like(goal, np.nan)
    for train, rows in folds:
        if len(train) + len(rows) == len(goal):
            hat = (left[rows] * shrinkage) @ left[rows].T + root[rows] @ root[rows].T / float((root**2).sum())
            missed = (root * (goal - offset) - fitted)[rows]
            residuals = np.linalg.solve(np.eye(len(rows)) - hat + 1e-9 * np.eye(len(rows)), missed)
            predictions[rows] = goal[rows] - residuals / root[rows]
        else:
            predictions[rows] = _alone(left * np.sqrt(eigenvalues), penalty, goal, root, train, rows)
    return predictions


def _alone(scores: Floats, penalty: float, goal: Floats, root: Floats, train: Rows, rows: Rows) -> Floats:
    """Return the predictions of some rows by the ridge regression on others; `scores` (n, k) are rows times root."""
    share = root[train] ** 2 / (root[train] ** 2).sum()
    plain = scores / root
    middle, offset = (share * plain[train]).sum(axis=0), (share * goal[train]).sum(axis=0)
    apart = root[train] * (plain[train] - middle)
    gram = apart.T @ apart + penalty * np.eye(scores.shape[1])
    slopes = np.linalg.solve(gram, apart.T @ (root[train] * (goal[train] - offset)))
    predictions: Floats = offset + (plain[rows] - middle) @ slopes
    return predictions


def _judged(
    held_out: Floats, goal: Floats, codes: npt.NDArray[np.int64] | None, weights: Floats
) -> tuple[float, float, Floats]:
    """Return the held-out loss, the temperature that reaches it, and the predictions."""
    known = ~np.isnan(held_out[:, 0])
    if codes is None:
        missed = ((held_out - goal)[known] ** 2).mean(axis=1)
        return float(np.average(missed, weights=weights[known])), 1.0, held_out[:, 0]
    loss, temperature = best_temperature(held_out[known], codes[known], TEMPERATURES, weights[known])
    return loss, temperature, tempered(held_out, temperature)
