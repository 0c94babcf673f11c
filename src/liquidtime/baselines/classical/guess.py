"""A constant guess that ignores the series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor

from liquidtime._checks import check_choice
from liquidtime.baselines.classical.summary import Values
from liquidtime.data import SeriesSet

_GUESSES = {"classify": DummyClassifier, "regress": DummyRegressor}
"""By default they predict the fraction of each class and the mean."""


class Guess:
    """A constant guess that ignores the series: the frequencies of the classes, or the mean.

    Args:
        task: "classify" or "regress".
    """

    def __init__(self, task: str = "classify") -> None:
        check_choice("task", task, _GUESSES)
        self.guess = _GUESSES[task]()

    def fit(self, data: SeriesSet, y: Any) -> Guess:
        """Compute the frequencies or the mean."""
        self.guess.fit(np.zeros((len(data), 1)), y)
        return self

    def predict(self, data: SeriesSet) -> npt.NDArray[Any]:
        """Return (S,) the most frequent class, or the mean."""
        predicted: npt.NDArray[Any] = self.guess.predict(np.zeros((len(data), 1)))
        return predicted

    def predict_proba(self, data: SeriesSet) -> Values:
        """Return (S, C) the fraction of each class."""
        probabilities: Values = self.guess.predict_proba(np.zeros((len(data), 1)))
        return probabilities
