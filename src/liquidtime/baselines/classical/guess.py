"""The guess that looks at no series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor

from liquidtime._checks import check_choice
from liquidtime.baselines.classical.summary import Values
from liquidtime.data import SeriesSet

_GUESSES = {"classify": DummyClassifier, "regress": DummyRegressor}
"""Their defaults are the share of each class and the mean."""


class Guess:
    """The guess that looks at no series: how often each class was there, or the mean.

    Args:
        task: "classify" or "regress".
    """

    def __init__(self, task: str = "classify") -> None:
        check_choice("task", task, _GUESSES)
        self.guess = _GUESSES[task]()

    def fit(self, data: SeriesSet, y: Any) -> Guess:
        """Count."""
        self.guess.fit(np.zeros((len(data), 1)), y)
        return self

    def predict(self, data: SeriesSet) -> npt.NDArray[Any]:
        """Return (S,) the most frequent class, or the mean."""
        predicted: npt.NDArray[Any] = self.guess.predict(np.zeros((len(data), 1)))
        return predicted

    def predict_proba(self, data: SeriesSet) -> Values:
        """Return (S, C) the share of each class."""
        probabilities: Values = self.guess.predict_proba(np.zeros((len(data), 1)))
        return probabilities
