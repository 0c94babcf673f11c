import numpy as np
import pandas as pd
import pytest

import liquidtime as lt
from estimators.small import TINY
from liquidtime.data import SeriesSet
from liquidtime.estimators.faces import forecaster
from liquidtime.estimators.faces.forecast_test import forecast_test
from liquidtime.estimators.forecast import stored

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
    assert set(found) >= {"model", "last_value", "straight_line", "mean_so_far"}
    assert found["model"].count == found["last_value"].count > 100
    assert found["model"].mse < 0.9 * found["mean_so_far"].mse < 0.9 * found["last_value"].mse
    assert fitted.score(swings(40, 1)) == pytest.approx(1 - found["model"].mse / found["last_value"].mse)


def test_errors_are_in_standard_deviations_of_the_channel_itself():
    rng = np.random.default_rng(0)
    rows = [(np.arange(12.0), np.exp(2 * rng.normal(size=(12, 1)))) for _ in range(30)]
    data = SeriesSet.from_arrays(rows, channels=["dose"])
    model = lt.CfCForecaster(**BETTER | {"epochs": 1}).fit(data)
    assert model.encoder_.scaling_.unit[0] > 0  # the network reads its logarithm
    z = data.values[:, 0].reshape(30, 12).astype(np.float64) / data.values[:, 0].astype(np.float64).std()
    off = z[:, 9:] - z[:, 8:9]  # the last value seen is the ninth of twelve
    found = model.compare(data)["last_value"]
    assert (found.mse, found.mae) == pytest.approx(((off**2).mean(), np.abs(off).mean()), rel=1e-5)


def test_untrained_the_network_forecasts_the_last_value():
    data = swings(20, 2)
    model = lt.CfCForecaster(**BETTER | {"epochs": 1, "learning_rate": 1e-12, "validation_fraction": 0.0}).fit(data)
    forecast, _ = model.parts(data, horizons=[0.5, 9.0])["network"]
    for place, one in enumerate(data):
        for channel in range(2):
            last = one.values[~np.isnan(one.values[:, channel]), channel][-1]
            np.testing.assert_allclose(forecast[place, :, channel], last, atol=2e-3)


def test_the_forecast_tends_to_the_last_value_as_the_gap_shrinks(fitted):
    data = swings(20, 2)
    last = np.array([[row[~np.isnan(row)][-1] for row in one.values.T] for one in data])
    seen_now = ~np.isnan(data.values[data.offsets[1:] - 1])
    off = [np.abs(fitted.predict(data, horizons=[gap])[:, 0] - last)[seen_now].max() for gap in (1.0, 0.1, 1e-3, 0.0)]
    assert off[0] > 0.3
    assert off[0] > off[1] > off[2] > off[3]
    assert off[2] < 0.01
    assert off[3] < 1e-5


def test_the_mixture_is_what_its_parts_say(fitted):
    data = swings(6, 7)
    parts = fitted.parts(data, horizons=[0.5, 2.0, 8.0])
    shares = np.stack([share for _, share in parts.values()])
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-9)
    mixed = sum(value * share for value, share in parts.values())
    np.testing.assert_allclose(fitted.predict(data, horizons=[0.5, 2.0, 8.0]), mixed, atol=1e-6)


def test_a_random_walk_is_left_to_the_last_value():
    rng = np.random.default_rng(0)
    walks = SeriesSet.from_arrays([(np.arange(30.0), rng.normal(size=30).cumsum()[:, None]) for _ in range(80)])
    model = lt.CfCForecaster(**BETTER | {"epochs": 50, "horizon": 6.0}).fit(walks[:60])
    skills = model.compare(walks[60:])
    assert skills["model"].mse < 1.05 * skills["last_value"].mse
    _, near = model.parts(walks[60:], horizons=[1.0])["last value"]
    assert near.min() > 0.3


def test_lines_are_continued():
    rng = np.random.default_rng(0)
    times = [np.sort(rng.uniform(0, 40, 20)) for _ in range(40)]
    rows = [(t, (rng.normal() + rng.normal() * t)[:, None]) for t in times]
    model = lt.CfCForecaster(**BETTER | {"epochs": 10}).fit(SeriesSet.from_arrays(rows[:30]))
    skills = model.compare(SeriesSet.from_arrays(rows[30:]))
    assert skills["model"].mse < 0.05 * skills["last_value"].mse


def test_intervals_hold_what_they_promise_at_every_gap(fitted):
    new = swings(150, 11)
    for skill in forecast_test(fitted, new).by_channel():
        assert skill.coverage == pytest.approx(0.9, abs=0.1), skill
    found = fitted.predict(new, horizons=[1.0, 5.0], intervals=0.5)
    np.testing.assert_array_equal(found.value, fitted.predict(new, horizons=[1.0, 5.0]))
    wide, narrow = (fitted.predict(new, horizons=[3.0], intervals=level) for level in (0.95, 0.5))
    assert ((wide.high - wide.low) > (narrow.high - narrow.low)).all()
    with pytest.raises(ValueError, match=r"`intervals` must be a share over 0 and at most 0\.99"):
        fitted.predict(new, horizons=[1.0], intervals=90)


def test_errors_by_channel_are_in_own_units_and_by_gap(fitted):
    new = swings(60, 12)
    found = forecast_test(fitted, new)
    skills = found.by_channel()
    whole = {skill.channel: skill for skill in skills if skill.low == 0.0 and skill.high == skills[0].high}
    off = np.concatenate(found.forecasts["last_value"]) - np.concatenate(found.truth)
    for c, name in enumerate(("one", "two")):
        assert whole[name].mae["last_value"] == pytest.approx(np.nanmean(np.abs(off[:, c])))
        parts = [skill for skill in skills if skill.channel == name and skill is not whole[name]]
        assert len(parts) == 4
        assert sum(skill.count for skill in parts) == whole[name].count
        assert [skill.low for skill in parts] == [0.0, *(skill.high for skill in parts[:-1])]
    assert whole["one"].rmse["last_value"] > 2 * whole["two"].rmse["last_value"]  # it swings three times as far


def test_chosen_targets_are_forecast_and_the_others_are_inputs(tmp_path):
    data = swings(40, 0)
    model = lt.CfCForecaster(**TINY, targets=["two"]).fit(data)
    assert model.channels_ == ("two",)
    assert model.predict(data, horizons=[1.0, 2.0]).shape == (40, 2, 1)
    other = SeriesSet.from_arrays(
        [(one.times, one.values * np.array([0.0, 1.0])) for one in data], channels=["one", "two"]
    )
    with_one, without = (model.parts(which, horizons=[5.0])["network"][0] for which in (data, other))
    assert np.abs(with_one - without).max() > 1e-4
    model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data, horizons=[3.0]), model.predict(data, horizons=[3.0]))
    with pytest.raises(ValueError, match="`targets` must be one of"):
        lt.CfCForecaster(targets=["three"]).fit(data)


def test_a_saved_forecaster_predicts_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    again, data = lt.load(tmp_path / "model"), swings(5, 9)
    answers = (model.predict(data, horizons=[0.2, 3.0], intervals=0.8) for model in (fitted, again))
    for mine, its in zip(*answers, strict=True):
        np.testing.assert_array_equal(mine, its)
    assert again.period_ == fitted.period_
    assert again.horizon_ == fitted.horizon_


def test_networks_of_an_earlier_form_are_read(tmp_path, monkeypatch):
    data = swings(20, 2)
    with monkeypatch.context() as before:
        before.setattr(forecaster, "usual_of", lambda *_: None)
        before.setattr(stored, "_FORM", 3)
        model = lt.CfCForecaster(**TINY).fit(data)
        model.save(tmp_path / "model")
    again = lt.load(tmp_path / "model")
    assert again.networks_[0].usual is None
    np.testing.assert_array_equal(again.predict(data, horizons=[3.0]), model.predict(data, horizons=[3.0]))


def test_networks_start_from_what_training_shows_of_each_channel():
    rng = np.random.default_rng(0)
    slow, quick = 40.0, 2.0  # times with which values return to their mean
    rows = []
    for _ in range(60):
        steps = np.empty((80, 2))
        steps[0] = rng.normal(size=2)
        for k in range(1, 80):
            kept = np.exp(-1.0 / np.array([slow, quick]))
            steps[k] = kept * steps[k - 1] + np.sqrt(1 - kept**2) * rng.normal(size=2)
        rows.append((np.arange(80.0), steps))
    model = lt.CfCForecaster(**TINY).fit(SeriesSet.from_arrays(rows))
    slope, _, away, settling = model._usual
    assert 3 * settling[1] < settling[0] < 80.0
    assert slope[0] < 0.5 * slope[1]
    assert ((away > 0.3) & (away < 3.0)).all()


def test_one_long_series_is_enough():
    rng = np.random.default_rng(0)
    t = np.sort(rng.choice(8000, 3000, replace=False)) / 10.0
    values = np.stack([np.sin(2 * np.pi * t / 12.0), np.cos(2 * np.pi * t / 12.0)], axis=1)
    values += 0.05 * rng.normal(size=(3000, 2))
    data = SeriesSet.from_arrays([(t[:2400], values[:2400])])
    model = lt.CfCForecaster(**BETTER | {"epochs": 20, "horizon": 10.0}).fit(data)
    assert model.period_ == pytest.approx(12.0, rel=0.05)
    found = model.predict(data, [t[2400:2430]], intervals=0.9)
    off = np.abs(found.value[0] - values[2400:2430])
    assert off.mean() < 0.5 * np.abs(values[2399] - values[2400:2430]).mean()


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


@pytest.mark.parametrize("settings", [{}, {"bin_width": 0.5}, {"n_estimators": 2}])
def test_a_live_series_is_forecast_as_a_whole_one(settings):
    model = lt.CfCForecaster(**TINY | settings).fit(swings(40, 0))
    data = swings(3, 4)
    one = data[1]
    for count, (time, values) in enumerate(zip(one.times, one.values, strict=True), 1):
        model.update("live", time, values)
        if count % 5 == 0 or count == len(one.times):
            whole = model.predict(data.head(count)[1:2], [one.times[count - 1] + np.array([0.3, 4.0])], intervals=0.8)
            after = np.array([0.3, 4.0])
            if "bin_width" in settings:
                after = after + one.times[count - 1] % 0.5
            live = model.forecast("live", after, intervals=0.8)
            for mine, its in zip(live, whole, strict=True):
                np.testing.assert_allclose(mine, its[0], atol=2e-5)


def test_a_live_series_remembers_a_period_and_no_more():
    t = np.arange(600) / 2.0
    data = SeriesSet.from_arrays([(t, np.sin(2 * np.pi * (t + k) / 12.0)[:, None]) for k in range(12)])
    model = lt.CfCForecaster(**TINY | {"epochs": 1, "horizon": 20.0}).fit(data)
    assert model.period_ == pytest.approx(12.0, rel=0.05)
    for time, values in zip(t, data[3].values, strict=True):
        model.update("live", time, values)
    np.testing.assert_allclose(
        model.forecast("live", [1.0, 7.5, 30.0]), model.predict(data, horizons=[1.0, 7.5, 30.0])[3], atol=2e-5
    )
    assert len(model._live["live"].state.memory.times[0]) < 30


@pytest.mark.parametrize("model", [lt.CfCForecaster, lt.StackedForecaster])
def test_a_horizon_before_the_next_sample_is_refused(model):
    rows = [(np.arange(30) * 86400.0 + k, np.sin(np.arange(30.0))) for k in range(5)]
    data = SeriesSet.from_arrays(rows, time_unit="s")
    message = r"`horizon` must reach at least the next sample; 14 s is shorter than .* 86400 s. .* with `time_unit`"
    with pytest.raises(ValueError, match=message):
        model(horizon=14.0, random_state=0).fit(data)


def test_the_horizon_bounds_what_training_asks_for():
    times = np.concatenate([np.arange(10.0), [100.0]])
    data = SeriesSet.from_arrays([(times, np.where(times > 50, 1000.0 + place, 0.0)) for place in range(20)])
    settings = BETTER | {"epochs": 2, "validation_fraction": 0.0, "learning_rate": 1e-9}
    near, far = (lt.CfCForecaster(**settings | {"horizon": horizon}).fit(data) for horizon in (20.0, 200.0))
    assert near.results_[0].history[0]["loss"] < 1e-6  # what lies near is the last value
    assert far.results_[0].history[0]["loss"] > 0.1
    with pytest.raises(ValueError, match="`horizon` must be finite and greater than 0"):
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
    aware = [pd.Timestamp(stamps).tz_localize("UTC").tz_convert("Europe/Paris")]
    np.testing.assert_array_equal(model.predict(data, aware), by_stamp)
    np.testing.assert_array_equal(model.predict(data, [aware] * 12), by_stamp)
    with pytest.raises(ValueError, match=r"`times` must not be before the last sample; .* series 0, whose last sample"):
        model.predict(data, np.array([ends.min() - 1]))


def test_empty_series_and_series_of_one_sample_have_forecasts(fitted):
    few = SeriesSet.from_arrays(
        [(np.zeros(0), np.zeros((0, 2))), (np.array([3.0]), np.array([[10.0, np.nan]]))], channels=["one", "two"]
    )
    assert np.isfinite(fitted.predict(few, horizons=[1.0, 50.0])).all()
    with pytest.raises(ValueError, match="nothing to forecast"):
        lt.CfCForecaster(**TINY).fit(few)


def test_times_far_beyond_the_horizon_are_forecast_like_those_at_twice_of_it():
    rng = np.random.default_rng(0)
    times = [np.cumsum(rng.exponential(size=30)) for _ in range(12)]
    data = lt.SeriesSet.from_arrays([(t, (rng.normal() * t + rng.normal(size=30))[:, None]) for t in times])
    for kind, settings in ((lt.CfCForecaster, TINY | {"epochs": 1}), (lt.StackedForecaster, {"n_networks": 1})):
        model = kind(**settings, horizon=3.0).fit(data)
        near, far, farther = np.moveaxis(model.predict(data, horizons=[5.0, 6.0, 3e6]), 1, 0)
        np.testing.assert_allclose(far, farther, atol=1e-5)
        assert model.period_ is None
        assert np.abs(near - far).max() > 1e-4


def test_a_test_asks_no_further_than_the_horizon_that_was_given():
    rng = np.random.default_rng(0)
    times = [np.cumsum(np.where(rng.random(20) < 0.3, 500.0, 1.0)) for _ in range(30)]
    data = lt.SeriesSet.from_arrays([(t, rng.normal(size=(20, 1))) for t in times])
    settings = TINY | {"epochs": 1}
    near, whole = (
        forecast_test(lt.CfCForecaster(**settings, **given).fit(data), data) for given in ({"horizon": 2.0}, {})
    )
    ends = [one.times[-1] for one in near.past.data]
    assert all(len(own) > 0 and own[-1] <= end + 2.0 for own, end in zip(near.times, ends, strict=True))
    assert len(near.rows) < len(whole.rows) == 30
    assert np.isfinite(near.scaled_truth).all()
    assert max(own[-1] for own in whole.times) > 500.0
