"""Sets of odd shape through the main job with its defaults: it ends, and is not clearly worse than the guess."""

import numpy as np
import polars as pl
import pytest

import liquidtime as lt
from estimators.stacking.quick import small_parts
from liquidtime.data import SeriesSet

GUESS = {"auc": 0.5, "log_loss": np.log(2)}


def made(S=60, steps=12, channels=2, seed=0):
    """Return offsets, times and values whose first channel tells one of two classes, three tenths missing."""
    rng = np.random.default_rng(seed)
    y = np.arange(S) % 2
    counts = np.full(S, steps)
    values = rng.normal(size=(S * steps, channels))
    values[:, 0] += 2 * np.repeat(y, counts)
    values[rng.random(values.shape) < 0.3] = np.nan
    times = np.concatenate([np.cumsum(rng.exponential(size=steps)) for _ in range(S)])
    return np.concatenate([[0], np.cumsum(counts)]), times, values, y


def whole(offsets, times, values, **more):
    names = tuple(f"c{place}" for place in range(values.shape[1]))
    return SeriesSet(offsets=offsets, times=times, values=values, channels=names, **more)


def trained(data, y, **more):
    with small_parts():
        return lt.train_and_test(data, y, n_networks=1, refit=False, **more)


def assert_beats_guess(result):
    model = result.figures["stacked model"]
    assert model["auc"].value > 0.6
    assert model["log_loss"].value < GUESS["log_loss"]


def test_channels_that_say_nothing_or_are_absurd_and_series_that_are_there_twice():
    offsets, times, values, y = made(channels=6)
    values[:, 1], values[:, 2], values[:, 3] = 3.0, np.nan, 1e30 * values[:, 3]
    values[:, 4] *= 1e-30
    values[5, 5] = 3e38
    data = whole(offsets, times, values)
    data = data[np.tile(np.arange(60), 2)].replace_unchecked(ids=np.arange(120))
    assert_beats_guess(trained(data, np.tile(y, 2)))


def test_series_of_no_sample_and_of_one():
    offsets, times, values, y = made(90, 1)
    data = whole(offsets, times, values)
    empty = np.zeros(90, dtype=np.int64)
    empty[::7] = 1
    assert_beats_guess(trained(data.head(1 - empty), y))


def test_static_features_alone():
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    static = np.stack([2 * y + rng.normal(size=80), rng.integers(0, 3, 80)], axis=1)
    names = {"static": static, "static_names": ("age", "ward"), "categories": {"ward": ("a", "b", "c")}}
    assert_beats_guess(trained(whole(np.zeros(81, dtype=np.int64), np.empty(0), np.empty((0, 1)), **names), y))


@pytest.mark.parametrize("stamps", [True, False])
def test_times_in_nanoseconds(stamps):
    _, times, values, y = made()
    ticks = 1_700_000_000_000_000_000 + np.round(times * 1e9).astype(np.int64)
    table = pl.DataFrame({"id": np.repeat(np.arange(60), 12), "time": ticks, "a": values[:, 0], "b": values[:, 1]})
    if stamps:
        table = table.with_columns(pl.col("time").cast(pl.Datetime("ns")))
    data = SeriesSet.from_wide(table, id="id", time="time")
    assert_beats_guess(trained(data, y))


def test_classes_of_very_different_size():
    y = np.zeros(300, dtype=np.int64)
    y[:2], y[2:12], y[12:80] = 1, 2, 3
    offsets, times, values, _ = made(300, 6)
    values[:, 0] += y.repeat(6)
    model = trained(whole(offsets, times, values), np.array(list("abcd"))[y])
    figures = model.figures
    guess = next(own for name, own in figures.items() if name.startswith("guess"))
    assert figures["stacked model"]["log_loss"].value < guess["log_loss"].value


@pytest.mark.parametrize("names", [[False, True], [" no, ", "yes, \nperhaps"]])
def test_classes_that_are_booleans_or_odd_texts(names):
    offsets, times, values, y = made()
    assert_beats_guess(trained(whole(offsets, times, values), np.array(names)[y]))


def test_classes_that_are_broken_numbers_are_refused_with_what_to_do():
    offsets, times, values, y = made()
    data, target = whole(offsets, times, values), np.array([-0.5, 1.5])[y]
    with pytest.raises(ValueError, match=r"numbers such as -0\.5.*pass them as texts"):
        lt.CfCClassifier().fit(data, target)
    with pytest.raises(ValueError, match=r"Set it between 0\.5 and 0\.5, or merge classes"):
        trained(data[np.arange(16)], np.arange(16) // 2, task="classify")


def test_lengths_from_one_to_thousands():
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    counts = rng.permutation(np.geomspace(1, 2500, 40).astype(np.int64))
    values = rng.normal(size=(counts.sum(), 1)) + 1.5 * np.repeat(y, counts)[:, None]
    times = np.concatenate([np.cumsum(rng.exponential(size=count)) for count in counts])
    assert_beats_guess(trained(whole(np.concatenate([[0], np.cumsum(counts)]), times, values), y))


@pytest.mark.parametrize("far", [1e6, 0.0])
def test_targets_with_outliers_and_targets_that_are_large(far):
    offsets, times, values, y = made()
    data = whole(offsets, times, values)
    target = 10.0 * y + np.random.default_rng(1).normal(size=60)
    if far:
        target[::15] = far
    else:
        target = 1e12 + 1e3 * target
    figures = trained(data, target).figures
    guess = next(own for name, own in figures.items() if name.startswith("guess"))
    assert figures["stacked model"]["rmse"].value < 1.5 * guess["rmse"].value
    if not far:
        assert figures["stacked model"]["rmse"].value < 0.9 * guess["rmse"].value
