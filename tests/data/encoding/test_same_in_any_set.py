"""A series gives the same bits alone, in any set and in any shard."""

import numpy as np
import pytest

from liquidtime.baselines.features import ConvolutionFeatures, RichFeatures, RunningFeatures
from liquidtime.data import History, SeriesEncoder, SeriesSet
from liquidtime.data.encoding.observations import Observations
from liquidtime.data.encoding.running_sum import running_sum
from oracles.series import random_set


def mixed_set(seed, S=40):
    """Series of very different lengths, sizes and times, so that a sum over all of them loses digits."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([0, 1, 2, 7, 30, 90, 200], size=S)
    data = random_set(seed, lengths.tolist())
    size = np.repeat(10.0 ** rng.integers(-3, 4, size=S), lengths)[:, None]
    categorical = [name in data.categories for name in data.channels]
    values = np.where(categorical, data.values, data.values * size).astype(np.float32)
    return data.replace_unchecked(values=values)


def shards_of(data, seed):
    """The set cut into parts, in another order, as positions."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data))
    cuts = np.sort(rng.choice(np.arange(1, len(data)), 5, replace=False))
    return np.split(order, cuts)


def per_sample(data, rows, table):
    return np.concatenate([table[data.offsets[row] : data.offsets[row + 1]] for row in rows])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [None, 3.0])
def test_encoding_and_history(seed, width):
    data = mixed_set(seed)
    encoder = SeriesEncoder(bin_width=width).fit(data)
    history = History(encoder)
    steps = encoder.steps(data)
    whole, rows, ends = encoder.encode(steps), history.at_steps(steps), history.at_ends(steps)
    for part in shards_of(data, seed):
        own = encoder.steps(data[part])
        encoded = encoder.encode(own)
        np.testing.assert_array_equal(encoded.x, per_sample(steps, part, whole.x))
        np.testing.assert_array_equal(encoded.dt, per_sample(steps, part, whole.dt))
        np.testing.assert_array_equal(history.at_steps(own), per_sample(steps, part, rows))
        np.testing.assert_array_equal(history.at_ends(own), ends[part])


def dense_set(seed, S=24):
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(S):
        t = np.cumsum(rng.exponential(size=int(rng.integers(70, 140))))
        parts.append(
            (t + 1000 * rng.random(), rng.normal(size=(len(t), 2)).cumsum(axis=0) * 10.0 ** rng.integers(-2, 3))
        )
    return SeriesSet.from_arrays(parts)


@pytest.mark.parametrize("make", [mixed_set, dense_set])
@pytest.mark.parametrize("features", [RichFeatures(), ConvolutionFeatures(200), RunningFeatures()])
def test_features(features, make):
    data = make(5)
    features.fit(data)
    whole = features.transform(data)
    for part in shards_of(data, 1):
        wanted = per_sample(data, part, whole) if isinstance(features, RunningFeatures) else whole[part]
        np.testing.assert_array_equal(features.transform(data[part]), wanted)


def test_observed_values_of_forecasts():
    data = mixed_set(2)
    places = [place for place, name in enumerate(data.channels) if name not in data.categories]
    now = np.array([series.times[-1] if len(series.times) else 0.0 for series in data])

    def asked(part, now):
        past = Observations.of(part, places).at_ends(part)
        ahead = now[:, None] + np.array([1.0, 5.0])
        return [past.mean, past.slope(3.0), *past.window(now, 9.0), past.typical(now, ahead, 4.0, 3, 1.0)]

    whole = asked(data, now)
    for part in shards_of(data, 3):
        for own, all_of_them in zip(asked(data[part], now[part]), whole, strict=True):
            np.testing.assert_array_equal(own, all_of_them[part])


def test_running_sums_are_those_of_each_run_alone():
    rng = np.random.default_rng(0)
    lengths = np.concatenate([[1, 1, 1000], rng.integers(1, 60, size=200)])
    values = rng.normal(size=(2, lengths.sum())) * 10.0 ** rng.integers(-8, 8, size=(2, lengths.sum()))
    starts = np.cumsum(lengths) - lengths
    sums = running_sum(values, starts)
    for start, length in zip(starts, lengths, strict=True):
        run = slice(start, start + length)
        np.testing.assert_array_equal(sums[:, run], np.cumsum(values[:, run], axis=1))
    assert running_sum(np.empty((3, 0)), np.empty(0, dtype=np.int64)).shape == (3, 0)
