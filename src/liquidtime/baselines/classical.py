"""What a practitioner would otherwise take: a guess, gradient boosting on summary features, the last value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from liquidtime._checks import check_choice
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.future_times import gaps_to, split_rows

Values = npt.NDArray[np.float64]
SUMMARY = ("mean", "least", "largest", "first", "last", "count", "deviation")
RATE, SHARE, LEAST = 0.05, 0.2, 16
"""Of gradient boosting, by cross-validation inside set a of PhysioNet 2012 (docs/log.md): the rate, the share of the
features that a split chooses from, and how many these are at least."""


def summary_features(data: SeriesSet) -> Values:
    """Return (S, 7·C + F): for each channel the `SUMMARY` of its observed values, then the static features.

    NaN where nothing was observed. Of a categorical channel the numbers are those of its categories.

    Args:
        data: S series of C channels.
    """
    S, C = len(data), len(data.channels)
    features = np.full((S, C, len(SUMMARY)), np.nan)
    codes = np.repeat(np.arange(S), data.lengths)
    for place in range(C):
        column = data.values[:, place].astype(np.float64)
        seen = np.flatnonzero(~np.isnan(column))
        z, owner = column[seen], codes[seen]
        count = np.bincount(owner, minlength=S)
        features[:, place, 5] = count
        if len(seen) == 0:
            continue
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        some = owner[starts]
        n = count[some]
        mean = np.add.reduceat(z, starts) / n
        spread = np.sqrt(np.add.reduceat((z - np.repeat(mean, n)) ** 2, starts) / n)
        least, largest = np.minimum.reduceat(z, starts), np.maximum.reduceat(z, starts)
        features[some, place, :5] = np.stack([mean, least, largest, z[starts], z[starts + n - 1]], axis=1)
        features[some, place, 6] = spread
    return np.concatenate([features.reshape(S, -1), data.static.astype(np.float64)], axis=1)


_TREES = {"classify": HistGradientBoostingClassifier, "regress": HistGradientBoostingRegressor}
_GUESSES = {"classify": DummyClassifier, "regress": DummyRegressor}
"""By the kind of target; both guesses are the mean, of classes or of values."""


class SummaryBoosting:
    """Gradient boosting on `summary_features`, whatever the time order was; each split chooses from random features.

    Args:
        task: "classify" or "regress".
        random_state: of the trees.
        trees: boosting rounds.
    """

    def __init__(self, task: str = "classify", random_state: int = 0, trees: int = 300) -> None:
        check_choice("task", task, _TREES)
        self.trees = _TREES[task](max_iter=trees, learning_rate=RATE, early_stopping=False, random_state=random_state)

    def fit(self, data: SeriesSet, y: Any) -> SummaryBoosting:
        """Grow the trees."""
        features = summary_features(data)
        self.known = ~np.isnan(features).all(axis=0)  # the trees cannot take a column without any number
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


class _Constant:
    """A forecast that is the same for all later times; channels not yet observed get the training mean."""

    def __init__(self, encoder: SeriesEncoder, channels: Sequence[str]) -> None:
        self.encoder, self.channels = encoder, tuple(channels)

    def predict(self, X: SeriesSet, times: Any = None, *, horizons: Any = None) -> Any:
        """Return (S, Q, C) forecasts; arguments as `CfCForecaster.predict`."""
        gaps, sizes = gaps_to(X, self.encoder, times, horizons)
        summary = summary_features(X)[:, : 7 * len(X.channels)].reshape(len(X), len(X.channels), 7)
        places = [X.channels.index(name) for name in self.channels]
        values = summary[:, places, SUMMARY.index(self.statistic)]
        scaling = self.encoder.scaling_
        for k, name in enumerate(self.channels):
            mean = scaling.invert(self.encoder.channels_.index(name), np.zeros(1))[0]
            values[np.isnan(values[:, k]), k] = mean
        return split_rows(np.repeat(values[:, None, :], gaps.shape[1], axis=1), sizes)

    statistic: str


class LastValue(_Constant):
    """Forecast the last value of each channel."""

    statistic = "last"


class MeanSoFar(_Constant):
    """Forecast the mean of each channel so far."""

    statistic = "mean"
