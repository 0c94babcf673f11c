"""Series that share their time: one clock, or values that move together."""

import numpy as np
import pytest

from liquidtime.data import SeriesSet
from liquidtime.data.container import common_clock, moving_together
from liquidtime.estimators.forecast.folds import forecast_folds
from liquidtime.evaluation.split import SplitRequest, split_series


def walk(rng, samples, channels=2):
    return rng.normal(size=(samples, channels)).cumsum(axis=0)


def stations(days=16, at_each=6, noise=0.5, seed=0):
    """Return chunks of some days at several stations that share their weather, and the day of each chunk."""
    rng = np.random.default_rng(seed)
    rows, day = [], []
    for number in range(days):
        weather = walk(rng, 60, 4)
        weather = weather - 0.8 * np.concatenate([np.zeros((5, 4)), weather[:-5]])
        for _ in range(at_each):
            hours = np.sort(rng.choice(60, 40, replace=False))
            values = rng.normal(size=4) * 5 + weather[hours] + noise * rng.normal(size=(40, 4))
            values[rng.random(values.shape) < 0.2] = np.nan
            rows.append((hours.astype(float), values))
            day.append(number)
    order = rng.permutation(len(rows))
    return SeriesSet.from_arrays([rows[i] for i in order]), np.array(day)[order]


def test_series_that_move_together_are_grouped():
    data, day = stations()
    groups = moving_together(data)
    for number in range(16):
        assert len(np.unique(groups[day == number])) == 1
    assert len(np.unique(groups)) >= 12  # now and then two days look alike


@pytest.mark.parametrize("kind", ["walks", "waves", "shapes", "few", "short", "constant", "empty"])
def test_series_that_do_not_share_their_time_are_not_grouped(kind):
    rng = np.random.default_rng(1)
    t = np.arange(50.0)
    if kind == "walks":  # they wander as much, each by itself
        rows = [(t, walk(rng, 50)) for _ in range(120)]
    elif kind == "waves":  # of one period, in any phase
        rows = [(t, np.sin(t / 4 + rng.uniform(0, 6))[:, None] + 0.1 * rng.normal(size=(50, 1))) for _ in range(120)]
    elif kind == "shapes":  # a few shapes recur
        shapes = walk(rng, 3 * 50).reshape(3, 50, 2)
        rows = [(t, shapes[k % 3] + 0.3 * rng.normal(size=(50, 2))) for k in range(120)]
    elif kind == "few":
        rows = [(t, np.sin(t)[:, None])] * 5
    elif kind == "short":
        rows = [(t[:3], rng.normal(size=(3, 1))) for _ in range(60)]
    elif kind == "constant":
        rows = [(t, np.ones((50, 2)))] * 60
    else:
        rows = [(t[:0], np.zeros((0, 1)))] * 30
    assert moving_together(SeriesSet.from_arrays(rows)) is None


def test_numbers_are_one_clock_where_series_begin_further_apart_than_they_last():
    rng = np.random.default_rng(0)
    hours = np.arange(24.0)
    apart = SeriesSet.from_arrays([(hours + 24 * (k // 3), rng.normal(size=(24, 1))) for k in range(60)])
    first, last = common_clock(apart)
    np.testing.assert_array_equal(first, 24.0 * (np.arange(60) // 3))
    np.testing.assert_array_equal(last - first, 23.0)
    for fold in forecast_folds(apart, 2, 0):  # three of a day stay on one side
        assert last[fold.until > 0].max() < first[fold.held].min()
    stays = SeriesSet.from_arrays([(hours + rng.integers(0, 12), rng.normal(size=(24, 1))) for _ in range(60)])
    assert common_clock(stays) is None
    assert common_clock(SeriesSet.from_arrays([(hours[:0], np.zeros((0, 1)))] * 3)) is None


def test_folds_and_the_test_keep_series_that_share_their_time_on_one_side():
    data, day = stations()
    for fold in forecast_folds(data, 3, 0):
        assert not set(day[fold.held]) & set(day[fold.until > 0])
    split = split_series(data, SplitRequest(), 0, None, in_time=True)
    ((train, test),) = split.folds
    assert not set(day[train]) & set(day[test])
    assert "groups of series that move together" in split.words
    classes = split_series(data, SplitRequest(), 0, None, in_time=False)
    assert classes.words == "drawn at random"


def test_forecasts_of_series_on_one_clock_are_tested_on_what_is_later():
    rng = np.random.default_rng(0)
    start, hours = np.datetime64("2024-01-01", "ns"), np.arange(48).astype("timedelta64[h]")
    chunks = [(start + np.timedelta64(k // 4, "D") + hours, rng.normal(size=(48, 1))) for k in range(80)]
    split = split_series(SeriesSet.from_arrays(chunks, time_unit="h"), SplitRequest(), 0, None, in_time=True)
    ((train, test),) = split.folds
    seen, judged = split.data[train], split.data[test]
    latest = max(
        origin + np.timedelta64(int(one.times[-1]), "h") for origin, one in zip(seen.origins, seen, strict=True)
    )
    cuts = (0.75 * judged.lengths).astype(int)
    for origin, one, cut in zip(judged.origins, judged, cuts, strict=True):
        assert origin + np.timedelta64(int(one.times[cut]), "h") > latest
    assert "all series use one clock" in split.words
    assert "2024-01-" in split.words
