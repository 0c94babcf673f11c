"""Gradient boosting on summary features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from liquidtime._checks import check_choice
from liquidtime.baselines.classical.summary import Values, summary_features
from liquidtime.data import SeriesSet

RATE, SHARE, LEAST = 0.05, 0.2, 16
"""Settings of gradient boosting, chosen by cross-validation in set a of PhysioNet 2012 (docs/log.md): the learning
rate, the fraction of the features considered by a split, and the smallest number of these."""
_TREES = {"classify": HistGradientBoostingClassifier, "regress": HistGradientBoostingRegressor}


class SummaryBoosting:
    """Gradient boosting on `summary_features`, which ignore the order in time; each split considers random features.

    Args:
        task: "classify" or "regress".
        random_state: random seed of the trees.
        trees: number of boosting rounds.
    """

    def __init__(self, task: str = "classify", random_state: int = 0, trees: int = 300) -> None:
        check_choice("task", task, _TREES)
        self.trees = _TREES[task](max_iter=trees, learning_rate=RATE, early_stopping=False, random_state=random_state)

    def fit(self, data: SeriesSet, y: Any) -> SummaryBoosting:
        """Fit the trees."""
        features = summary_features(data)
        self.known = ~np.isnan(features).all(axis=0)  # the trees do not accept a column without any number
        self.trees.set_params(max_features=min(1.0, max(SHARE, LEAST / self.known.sum())))
        self.trees.fit(features[:, self.known], y)
        return self

    def predict(self, data: SeriesSet) -> npt.NDArray[Any]:
        """Return (S,) classes or values."""
        predicted: npt.NDArray[Any] = self.trees.predict(summary_features(data)[:, self.known])
        return predicted

    def predict_proba(self, data: SeriesSet) -> Values:
        """Return (S, C) probabilities."""
        probabilities: Values = self.trees.predict_proba(summary_features(data)[:, self.known])
        return probabilities
