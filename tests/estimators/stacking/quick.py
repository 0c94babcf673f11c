"""Stacks whose parts are small, so that a test fits one in a second."""

from contextlib import contextmanager
from functools import partial

import pytest

import liquidtime as lt
from estimators.small import TINY
from liquidtime.baselines.features import ConvolutionFeatures, Trees
from liquidtime.baselines.features import trees as trees_module
from liquidtime.estimators.stacking import fitting
from liquidtime.estimators.stacking.base import StackedEstimator


@contextmanager
def small_parts():
    """Networks of a few units, boosting of few rounds, forests of few trees, few convolutions."""
    with pytest.MonkeyPatch.context() as patch:

        def networks(self, seed):
            settings = TINY | {"n_estimators": self.n_networks, "bin_width": "scales", "random_state": seed % 2**31}
            return self._face(**settings)

        grow = Trees._model

        def small(self, *sizes):
            model = grow(self, *sizes)
            return model.set_params(n_estimators=12) if self.kind == "extra trees" else model

        patch.setattr(StackedEstimator, "_networks", networks)
        patch.setattr(Trees, "_rounds", lambda self: 12)
        patch.setattr(Trees, "_model", small)
        patch.setattr(trees_module, "CHECKPOINTS", 3)
        patch.setattr(fitting, "ConvolutionFeatures", partial(ConvolutionFeatures, thresholds=500))
        yield


def classifier(data, labels, **fit):
    with small_parts():
        return lt.StackedClassifier(n_networks=2, n_splits=3, random_state=0).fit(data, labels, **fit)


def regressor(data, level, **fit):
    with small_parts():
        return lt.StackedRegressor(n_networks=2, n_splits=3, random_state=0).fit(data, level, **fit)
