"""Stacks on sets of a character that no default was chosen on: no worse than the guess, the last value, or a part."""

import numpy as np
import pytest

from estimators.stacking.quick import classifier
from estimators.stacking.small_forecasts import forecaster
from liquidtime.data import SeriesSet

S = 50


def noise(rng, label):
    """Nothing tells the class."""
    return np.sort(rng.uniform(0, 10, 8)), rng.normal(size=(8, 2))


def event_rate(rng, label):
    """A channel that is always 1: only how often it is seen tells the class."""
    n = int(rng.poisson(14 if label else 7)) + 1
    return np.sort(rng.uniform(0, 10, n)), np.ones((n, 1))


def heavy_tails(rng, label):
    """Values without a mean, whose median tells the class."""
    return np.sort(rng.uniform(0, 10, 15)), rng.standard_cauchy((15, 1)) * 5 + 4 * label


def one_burst(rng, label):
    """A short burst somewhere in half of the series, on a level that says nothing."""
    values = rng.normal(size=(30, 1)) + rng.normal() * 3
    start = rng.integers(0, 26)
    values[start : start + 3] += 5 * label
    return np.cumsum(rng.exponential(size=30)), values


def never_seen(rng, label):
    """Three of four channels empty in most series, times in nanoseconds since 1970, values in millions."""
    values = np.full((9, 4), np.nan)
    values[:, 0] = 3e6 + 1e5 * rng.normal(size=9) + 5e4 * label
    values[rng.integers(9), rng.integers(1, 4)] = rng.normal()
    return 1.7e18 + np.cumsum(rng.integers(1, 1000, 9) * 1e9), values


@pytest.mark.parametrize(
    "make", [noise, event_rate, heavy_tails, one_burst, never_seen], ids=lambda make: make.__name__
)
def test_classes_are_told_no_worse_than_by_the_guess_or_a_part(make):
    rng = np.random.default_rng(0)
    labels = (np.arange(2 * S) % 3 == 0).astype(int)
    data = SeriesSet.from_arrays([make(rng, label) for label in labels])
    model = classifier(data[:S], labels[:S])
    test, truth = data[S:], labels[S:]

    def loss(chances):
        return -np.log(np.maximum(chances[np.arange(S), truth], 1e-12)).mean()

    guess = loss(np.broadcast_to(np.bincount(labels[:S]) / S, (S, 2)))
    answer = loss(model.predict_proba(test))
    assert answer < 1.02 * guess
    weighed = {part.name for part in model.parts_ if part.weight > 0}
    best = min(loss(said) for name, said in model.predict_parts(test).items() if name in weighed)
    assert answer < 1.1 * best + 1 / S  # nobody is surer than n of n + 1


def walk(rng):
    """Nothing to know but the last value, at steps of very different length."""
    t = np.cumsum(rng.exponential(size=30) ** 2 + 0.01)
    return t, (rng.normal(size=30) * np.sqrt(np.diff(t, prepend=0.0))).cumsum()[:, None]


def rare_sales(rng):
    """Counts that are mostly 0."""
    return np.arange(30.0), rng.poisson(0.3, (30, 1)).astype(float)


def outliers(rng):
    """A slow wave with a few values that are far off."""
    t = np.sort(rng.uniform(0, 30, 30))
    values = np.sin(t / 3 + rng.uniform(0, 6)) + 0.1 * rng.normal(size=30)
    values[rng.random(30) < 0.05] += 300.0
    return t, values[:, None]


def own_levels(rng):
    """Every series on a level of its own, a thousand times what it moves."""
    return np.arange(30.0), (1e3 * rng.normal() + rng.normal(size=30))[:, None]


def steady_and_stuck(rng):
    """A straight line, and a channel that never changes."""
    t = np.sort(rng.uniform(0, 30, 30))
    return t, np.stack([rng.normal() + t * rng.normal() + 0.01 * rng.normal(size=30), np.full(30, 7.0)], axis=1)


@pytest.mark.parametrize(
    "make", [walk, rare_sales, outliers, own_levels, steady_and_stuck], ids=lambda make: make.__name__
)
def test_forecasts_are_no_worse_than_the_last_value_or_a_part(make):
    rng = np.random.default_rng(1)
    data = SeriesSet.from_arrays([make(rng) for _ in range(2 * S)])
    model = forecaster(data[:S], horizon=6.0)
    test = data[S:]
    cut = 20
    past = test.head(np.full(S, cut))
    times = [one.times[cut : cut + 6] for one in test]
    truth = np.stack([one.values[cut : cut + 6] for one in test])
    parts = {name: np.asarray(said) for name, (said, _) in model.parts(past, times).items()}
    answer = np.asarray(model.predict(past, times))
    spread = np.maximum(np.nanstd(data.values[: data.offsets[S]], axis=0), 1e-9)

    def errors(said):
        return (np.minimum(np.abs(said - truth) / spread, 3.0) ** 2).mean(axis=(0, 2))  # (6,) by horizon

    last = errors(parts["last value"])
    assert (errors(answer) < 1.15 * last + 1e-6).all()
    best = min(errors(said).mean() for said in parts.values())
    assert errors(answer).mean() < 1.1 * best + 0.02 * last.mean() + 1e-6
