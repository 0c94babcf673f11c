"""What was observed up to a cut, beside plain loops over the samples, which cannot see what comes after it."""

from dataclasses import replace

import numpy as np
import pytest

import liquidtime as lt
from liquidtime.data.encoding.observations import Observations

PERIOD, WIDTH, SPAN = 3.0, 1.5, 4.0


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    series = []
    for T in (1, 9, 30):
        values = rng.normal(size=(T, 2))
        values[rng.random(values.shape) < 0.3] = np.nan
        series.append((np.sort(rng.uniform(0.0, 20.0, T)), values))
    series[1][1][:, 1] = np.nan  # a channel that is never observed
    return lt.SeriesSet.from_arrays(series)


def cuts(data):
    """The position of every series, and of each of its steps among all."""
    return np.repeat(np.arange(len(data)), data.lengths), np.arange(len(data.times))


def seen(data, series, step, channel):
    """The times and values of a channel up to a step."""
    rows = np.arange(data.offsets[series], step + 1)
    rows = rows[~np.isnan(data.values[rows, channel])]
    return data.times[rows], data.values[rows, channel].astype(float)


def value_at(times, values, t):
    """The newest value at or before t."""
    return values[times <= t][-1] if (times <= t).any() else np.nan


def test_every_cut_has_what_a_loop_finds(data):
    series, steps = cuts(data)
    past = Observations.of(data, [0, 1]).up_to(series, steps)
    now = data.times[steps]
    ahead = now[:, None] + np.array([0.1, 2.9, 3.1, 7.0, 40.0])
    found = {
        "last": past.last,
        "mean": past.mean,
        "slope": past.slope(WIDTH),
        "line": past.line(ahead, WIDTH),
        "seasonal": past.seasonal(now, ahead, PERIOD),
        "window": past.window(now, SPAN)[0],
    }
    for row, step in enumerate(steps):
        for channel in (0, 1):
            times, values = seen(data, series[row], step, channel)
            if not len(times):
                assert np.isnan([found[name][row, ..., channel] for name in ("last", "mean", "window")]).all()
                assert np.isnan(found["seasonal"][row, :, channel]).all()
                continue
            older = np.flatnonzero(times[:-1] <= times[-1] - WIDTH)
            older = older[-1] if len(older) else 0
            apart = times[-1] - times[older]
            slope = (values[-1] - values[older]) / apart if apart > 0 else 0.0
            seasonal = []
            for t in ahead[row]:
                back = t - PERIOD
                while back > now[row] + 1e-9:
                    back -= PERIOD
                seasonal.append(value_at(times, values, back))
            inside = values[times > now[row] - SPAN]
            wanted = {
                "last": values[-1],
                "mean": values.mean(),
                "slope": slope,
                "line": values[-1] + slope * (ahead[row] - times[-1]),
                "seasonal": seasonal,
                "window": inside.mean() if len(inside) else np.nan,
            }
            for name, value in wanted.items():
                np.testing.assert_allclose(found[name][row, ..., channel], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_what_comes_after_a_cut_changes_nothing(data):
    series, steps = cuts(data)
    for row in (0, 4, 12, 25):
        later = np.arange(len(data.times)) > steps[row]
        poisoned = replace(data, values=np.where(later[:, None], 1e9, data.values).astype(np.float32))
        now = data.times[steps[row : row + 1]]
        ahead = now[:, None] + np.array([0.1, 2.9, 3.1, 7.0, 40.0])
        told = []
        for one in (data, poisoned):
            past = Observations.of(one, [0, 1]).up_to(series[row : row + 1], steps[row : row + 1])
            told.append((past.last, past.mean, past.line(ahead, WIDTH), past.seasonal(now, ahead, PERIOD)))
        for mine, its in zip(*told, strict=True):
            np.testing.assert_array_equal(mine, its)
