"""Stacked forecasters whose parts are small, so that a test fits one in a second."""

from contextlib import contextmanager

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY
from liquidtime.data import SeriesSet
from liquidtime.estimators.stacking import lag_fitting


def swings(S, seed, drift=0.0):
    """Series of two channels that swing with a known period, seen at random times, with a driver that is known."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(S):
        t = np.sort(rng.choice(300, rng.integers(20, 30), replace=False)) / 10.0
        phase = rng.uniform(0, 2 * np.pi)
        driver = np.where(rng.random(len(t)) < 0.5, 1.0, -1.0)
        values = np.stack([10 + 3 * np.sin(t + phase) + drift * t, np.cos(t + phase), driver], axis=1)
        values[:, :2][rng.random((len(t), 2)) < 0.2] = np.nan
        rows.append((t, values))
    return SeriesSet.from_arrays(rows, channels=["one", "two", "driver"])


@contextmanager
def small_forecasts():
    """A network of a few units and epochs, boosting of few rounds."""
    with pytest.MonkeyPatch.context() as patch:

        def networks(self):
            settings = TINY | {"n_estimators": self.n_networks, "random_state": self.random_state}
            return lt.CfCForecaster(**settings, horizon=self.horizon, targets=self.targets, known=self.known)

        patch.setattr(lt.StackedForecaster, "_networks", networks)
        patch.setattr(lag_fitting, "_CHECKPOINTS", (5, 15))
        yield


def forecaster(data, fit=None, **settings):
    """Return a small stack fitted to series."""
    with small_forecasts():
        return lt.StackedForecaster(n_networks=1, random_state=0, **settings).fit(data, **(fit or {}))
