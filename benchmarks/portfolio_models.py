"""The models that the portfolio compares: the library's own, and rivals from the `bench` extra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmarks.portfolio_data import CLASSIFY, SAMPLES, PortfolioSet
from liquidtime.baselines.classical import Guess
from liquidtime.baselines.features import RichFeatures, RunningFeatures
from liquidtime.baselines.features.resampling import RegularGrid, Resampled
from liquidtime.data import SeriesSet
from liquidtime.estimators import (
    CfCClassifier,
    CfCRegressor,
    StackedClassifier,
    StackedRegressor,
    StackedStepClassifier,
)

Floats = npt.NDArray[np.float64]
MOST_VALUES = 2e7
"""Grid values (series, channels and points) up to which MultiRocket-Hydra is run: beyond it takes hours."""


class LeftOut(Exception):
    """A model that is not run on a set; the text says why."""


class _Native:
    """An estimator of the library, with the groups of the set where it takes them."""

    def __init__(self, estimator: Any, classify: bool) -> None:
        self.estimator, self.classify = estimator, classify

    def fit(self, train: PortfolioSet) -> _Native:
        options = {} if train.groups is None or isinstance(self.estimator, Guess) else {"groups": train.groups}
        self.estimator.fit(train.data, train.target, **options)
        return self

    def predict(self, data: SeriesSet) -> Floats:
        answer: Floats = self.estimator.predict_proba(data) if self.classify else self.estimator.predict(data)
        return answer

    def parts(self, data: SeriesSet) -> dict[str, tuple[float, Floats]]:
        """Return weight and answer of each part of a stack; nothing of other models."""
        if not hasattr(self.estimator, "parts_"):
            return {}
        said, weights = self.estimator.predict_parts(data), {part.name: part.weight for part in self.estimator.parts_}
        return {name: (weights[name], answer if self.classify else answer[:, 0]) for name, answer in said.items()}


class _OnFeatures:
    """A learner on the rich features of each series, or on the running features of each sample."""

    def __init__(self, learner: Any, classify: bool, features: Any = None) -> None:
        self.learner, self.classify, self.features = learner, classify, RichFeatures() if features is None else features

    def fit(self, train: PortfolioSet) -> _OnFeatures:
        table = self.features.fit_transform(train.data)
        self.known = ~np.isnan(table).all(axis=0)  # scikit-learn's boosting cannot take a column without a number
        self.learner.fit(table[:, self.known], train.target)
        return self

    def predict(self, data: SeriesSet) -> Floats:
        table = self.features.transform(data)[:, self.known]
        answer: Floats = self.learner.predict_proba(table) if self.classify else self.learner.predict(table)
        return answer

    def parts(self, data: SeriesSet) -> dict[str, tuple[float, Floats]]:
        return {}


class _MultiRocketHydra:
    """aeon's MultiRocket-Hydra on series of one length; its probabilities are 0 or 1."""

    def __init__(self, seed: int, classify: bool) -> None:
        self.seed, self.classify = seed, classify

    def fit(self, train: PortfolioSet) -> _MultiRocketHydra:
        grid = RegularGrid.fit(train.data)
        if grid is None:
            raise LeftOut("no channel is dense")
        self.grid, self.points = grid, int(np.quantile(grid.resample(train.data).counts, 0.95))
        size = len(train.data) * len(grid.channels) * self.points
        if size > MOST_VALUES:
            raise LeftOut(f"{size / 1e6:.0f} million values on the grid")
        try:
            from aeon.classification.convolution_based import MultiRocketHydraClassifier
            from aeon.regression.convolution_based import MultiRocketHydraRegressor
        except ImportError as error:
            raise LeftOut(f"{error}: install the `bench` extra") from error
        kind = MultiRocketHydraClassifier if self.classify else MultiRocketHydraRegressor
        self.model = kind(random_state=self.seed)
        self.model.fit(common_length(self.grid.resample(train.data), self.points), train.target)
        return self

    def predict(self, data: SeriesSet) -> Floats:
        table = common_length(self.grid.resample(data), self.points)
        answer: Floats = self.model.predict_proba(table) if self.classify else self.model.predict(table)
        return answer

    def parts(self, data: SeriesSet) -> dict[str, tuple[float, Floats]]:
        return {}


def common_length(series: Resampled, points: int) -> Floats:
    """Return (S, C, points): series at equal steps of time, cut at their ends or filled up with zeros, the mean.

    Args:
        series: S series on a regular grid.
        points: of each.
    """
    C, ends = len(series.values), np.cumsum(series.counts)
    table = np.zeros((len(series.counts), C, points))
    for row, (end, count) in enumerate(zip(ends, series.counts, strict=True)):
        taken = min(int(count), points)
        table[row, :, :taken] = series.values[:, end - count : end - count + taken]
    return table


def _boosting(seed: int, classify: bool) -> Any:
    kind = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
    return kind(max_iter=300, learning_rate=0.05, early_stopping=False, random_state=seed)


def _lightgbm(seed: int, classify: bool) -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise LeftOut(f"{error}: install the `bench` extra") from error
    kind = lightgbm.LGBMClassifier if classify else lightgbm.LGBMRegressor
    return _Plain(
        kind(
            n_estimators=300, learning_rate=0.05, num_leaves=31, min_child_samples=10, colsample_bytree=0.5,
            subsample=0.8, subsample_freq=1, random_state=seed, n_jobs=1, verbose=-1,
        )
    )  # fmt: skip


class _Plain:
    """LightGBM on arrays, without its warnings about names of columns."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, X: Floats, y: Any) -> _Plain:
        self.learner.fit(X, y)
        return self

    def predict(self, X: Floats) -> Floats:
        return np.asarray(self.learner.predict(X, validate_features=False))

    def predict_proba(self, X: Floats) -> Floats:
        return np.asarray(self.learner.predict_proba(X, validate_features=False))


Make = Callable[[int, bool], Any]
MODELS: dict[str, Make] = {
    "guess": lambda seed, classify: _Native(Guess("classify" if classify else "regress"), classify),
    "quick": lambda seed, classify: _Native(_networks(seed, classify, budget="quick"), classify),
    "boosting": lambda seed, classify: _OnFeatures(_boosting(seed, classify), classify),
    "lightgbm": lambda seed, classify: _OnFeatures(_lightgbm(seed, classify), classify),
    "networks": lambda seed, classify: _Native(_networks(seed, classify), classify),
    "ensemble": lambda seed, classify: _Native(_networks(seed, classify, n_estimators=5), classify),
    "multirocket-hydra": lambda seed, classify: _MultiRocketHydra(seed, classify),
    "default": lambda seed, classify: _Native(
        (StackedClassifier if classify else StackedRegressor)(random_state=seed), classify
    ),
}
"""How each model is made of a seed and whether it is to classify, the cheapest first."""
OF_SAMPLES: dict[str, Callable[[int], Any]] = {
    "guess": lambda seed: _OnFeatures(DummyClassifier(strategy="prior"), True, RunningFeatures()),
    "quick": lambda seed: _Native(CfCClassifier(per_step=True, budget="quick", random_state=seed), True),
    "boosting": lambda seed: _OnFeatures(_boosting(seed, True), True, RunningFeatures()),
    "lightgbm": lambda seed: _OnFeatures(_lightgbm(seed, True), True, RunningFeatures()),
    "networks": lambda seed: _Native(CfCClassifier(per_step=True, random_state=seed), True),
    "default": lambda seed: _Native(StackedStepClassifier(random_state=seed), True),
}
"""The same for a class per sample."""


def _networks(seed: int, classify: bool, **settings: Any) -> Any:
    return (CfCClassifier if classify else CfCRegressor)(random_state=seed, **settings)


def make(model: str, task: str, seed: int) -> Any:
    """Return a model to fit to a `PortfolioSet`.

    Args:
        model: one of `MODELS`.
        task: "classify", "classify-samples" or "regress".
        seed: random seed.

    Raises:
        LeftOut: a model that does not take the task.

    """
    if task == SAMPLES:
        if model not in OF_SAMPLES:
            raise LeftOut("it gives one class per series")
        return OF_SAMPLES[model](seed)
    return MODELS[model](seed, task == CLASSIFY)


if __name__ == "__main__":
    print("models that `--models` of benchmarks/portfolio.py takes:", ", ".join(MODELS))
