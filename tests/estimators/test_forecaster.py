import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY
from liquidtime.data import SeriesSet

BETTER = TINY | {"hidden_size": 16, "read_out_units": 16, "epochs": 30, "learning_rate": 0.01, "dropout": 0.0}


def swings(S, seed):
    """Series of two channels that swing with a known period, seen at random times."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(S):
        t = np.sort(rng.choice(300, rng.integers(15, 30), replace=False)) / 10.0
        phase = rng.uniform(0, 2 * np.pi)
        values = np.stack([10 + 3 * np.sin(t + phase), np.cos(t + phase)], axis=1)
        values[rng.random(values.shape) < 0.2] = np.nan
        rows.append((t, values))
    return SeriesSet.from_arrays(rows, channels=["one", "two"])


@pytest.fixture(scope="module")
def fitted():
    return lt.CfCForecaster(**BETTER).fit(swings(120, 0))


def test_it_beats_both_baselines_on_what_swings(fitted):
    found = fitted.compare(swings(40, 1))
    assert set(found) == {"model", "last_value", "mean_so_far"}
    assert found["model"].count == found["last_value"].count > 100
    assert found["model"].mse < 0.9 * found["mean_so_far"].mse < 0.9 * found["last_value"].mse
    assert fitted.score(swings(40, 1)) == pytest.approx(1 - found["model"].mse / found["last_value"].mse)


def test_errors_of_a_heavy_tailed_channel_are_those_of_its_logarithm():
    rng = np.random.default_rng(0)
    rows = [(np.arange(12.0), np.exp(2 * rng.normal(size=(12, 1)))) for _ in range(30)]
    data = SeriesSet.from_arrays(rows, channels=["dose"])
    model = lt.CfCForecaster(**BETTER | {"epochs": 1}).fit(data)
    assert model.encoder_.scaling_.unit[0] > 0
    z = model.encoder_.scaling_.column(0, data.values[:, 0]).reshape(30, 12).astype(np.float64)
    off = z[:, 9:] - z[:, 8:9]  # the last value seen is the ninth of twelve
    found = model.compare(data)["last_value"]
    assert (found.mse, found.mae) == pytest.approx(((off**2).mean(), np.abs(off).mean()), rel=1e-5)
    assert found.mse < 5  # two draws of deviation 1 are off by 2


def test_untrained_it_forecasts_the_last_value():
    data = swings(20, 2)
    model = lt.CfCForecaster(**BETTER | {"epochs": 1, "learning_rate": 1e-12, "validation_fraction": 0.0}).fit(data)
    forecast = model.predict(data, horizons=[0.5, 9.0])
    for place, one in enumerate(data):
        for channel in range(2):
            last = one.values[~np.isnan(one.values[:, channel]), channel][-1]
            np.testing.assert_allclose(forecast[place, :, channel], last, atol=2e-3)


def test_each_time_is_forecast_on_its_own(fitted):
    data = swings(10, 3)
    ends = data.times[data.offsets[1:] - 1]
    together = fitted.predict(data, ends[:, None] + np.array([1.0, 2.0, 5.5]))
    assert together.shape == (10, 3, 2)
    np.testing.assert_allclose(fitted.predict(data, horizons=[5.5])[:, 0], together[:, 2], atol=1e-5)
    assert np.abs(together[:, 0] - together[:, 2]).max() > 0.1
    ragged = fitted.predict(data, [end + np.arange(1 + place % 3) for place, end in enumerate(ends)])
    assert [row.shape for row in ragged] == [(1 + place % 3, 2) for place in range(10)]
    np.testing.assert_allclose(ragged[2][1], together[2, 0], atol=1e-5)


def test_a_live_series_is_forecast_as_a_whole_one(fitted):
    data = swings(3, 4)
    one = data[1]
    for time, values in zip(one.times, one.values, strict=True):
        fitted.update("live", time, values)
    np.testing.assert_allclose(
        fitted.forecast("live", [0.3, 4.0]), fitted.predict(data, horizons=[0.3, 4.0])[1], atol=1e-5
    )


def test_the_horizon_bounds_what_training_asks_for():
    times = np.concatenate([np.arange(10.0), [100.0]])
    data = SeriesSet.from_arrays([(times, np.where(times > 50, 1000.0 + place, 0.0)) for place in range(20)])
    settings = BETTER | {"epochs": 2, "validation_fraction": 0.0, "learning_rate": 1e-9}
    near, far = (lt.CfCForecaster(**settings | {"horizon": horizon}).fit(data) for horizon in (20.0, None))
    assert near.results_[0].history[0]["loss"] < 1e-6  # what lies near is the last value
    assert far.results_[0].history[0]["loss"] > 0.1
    with pytest.raises(ValueError, match="`horizon` must be finite and over 0"):
        lt.CfCForecaster(horizon=-1.0).fit(data)


def test_time_stamps_are_asked_for_as_time_stamps():
    start = np.datetime64("2024-03-01T00:00:00", "ns")
    rows = [
        (start + (np.arange(12) * (20 + place)).astype("timedelta64[m]"), np.sin(np.arange(12.0) + place))
        for place in range(12)
    ]
    data = SeriesSet.from_arrays(rows, time_unit="h")
    model = lt.CfCForecaster(**TINY).fit(data)
    stamps = start + np.timedelta64(30, "h")
    ends = data.times[data.offsets[1:] - 1]
    by_stamp = model.predict(data, np.array([stamps]))
    by_number = model.predict(data, np.full((12, 1), 30.0))
    np.testing.assert_allclose(by_stamp, by_number, atol=1e-6)
    with pytest.raises(ValueError, match=r"`times` must not be before the last sample; .* series 0, whose last sample"):
        model.predict(data, np.array([ends.min() - 1]))


def test_empty_series_and_series_of_one_sample_have_forecasts(fitted):
    few = SeriesSet.from_arrays(
        [(np.zeros(0), np.zeros((0, 2))), (np.array([3.0]), np.array([[10.0, np.nan]]))], channels=["one", "two"]
    )
    assert np.isfinite(fitted.predict(few, horizons=[1.0, 50.0])).all()
    with pytest.raises(ValueError, match="nothing to forecast"):
        lt.CfCForecaster(**TINY).fit(few)
