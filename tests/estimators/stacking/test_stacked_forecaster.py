"""Stacked forecasts: parts, weights, live series, folders, known channels, folds."""

import numpy as np
import pytest
from sklearn.base import clone

import liquidtime as lt
from estimators.stacking.small_forecasts import forecaster, small_forecasts, swings
from estimators.stacking.test_stacked_folder import changed
from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.forecast_test import forecast_test
from liquidtime.estimators.forecast.folds import forecast_folds

NAMES = ["network", "last value", "straight line", "mean so far", "seasonal naive", "boosting", "linear"]


@pytest.fixture(scope="module")
def fitted():
    return forecaster(swings(90, 0))


def test_the_forecast_is_what_its_parts_say(fitted):
    data = swings(8, 5)
    parts = fitted.parts(data, horizons=[0.0, 0.5, 3.0, 8.0])
    assert list(parts) == NAMES
    shares = np.stack([share for _, share in parts.values()])
    assert shares.min() >= 0
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-9)
    mixed = sum(value * share for value, share in parts.values())
    np.testing.assert_allclose(fitted.predict(data, horizons=[0.0, 0.5, 3.0, 8.0]), mixed, atol=1e-6)
    for name in ("boosting", "linear"):  # they too tend to the last value
        seen = ~np.isnan(data.values[data.offsets[1:] - 1][:, :2])
        np.testing.assert_allclose(parts[name][0][:, 0, :2][seen], parts["last value"][0][:, 0, :2][seen], atol=1e-9)
    assert {part.name for part in fitted.parts_} == {"CfC networks", *NAMES[1:]}
    assert sum(part.weight for part in fitted.parts_) == pytest.approx(1.0)
    assert fitted.figures_["mse"] <= min(part.figures["mse"] for part in fitted.parts_) * 1.02


def test_it_beats_naive_forecasts_and_stands_beside_its_networks(fitted):
    found = fitted.compare(swings(60, 1))
    assert {"model", "networks_alone", "last_value", "straight_line", "mean_so_far"} <= set(found)
    naive = min(found[name].mse for name in ("last_value", "straight_line", "mean_so_far"))
    assert found["model"].mse < 0.8 * naive
    for skill in forecast_test(fitted, swings(150, 2)).by_channel():
        if skill.channel != "driver":
            assert skill.rmse["model"] < 1.1 * skill.rmse["last_value"], skill
            assert skill.coverage == pytest.approx(0.9, abs=0.09), skill


def test_a_random_walk_is_left_to_the_last_value():
    rng = np.random.default_rng(0)
    walks = SeriesSet.from_arrays([(np.arange(30.0), rng.normal(size=30).cumsum()[:, None]) for _ in range(80)])
    skills = forecaster(walks[:60], horizon=6.0).compare(walks[60:])
    assert skills["model"].mse < 1.05 * skills["last_value"].mse


def test_a_folder_says_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    again, data = lt.load(tmp_path / "m"), swings(6, 3)
    assert type(again) is lt.StackedForecaster
    for mine, its in zip(
        fitted.predict(data, horizons=[1.0, 5.0], intervals=0.8),
        again.predict(data, horizons=[1.0, 5.0], intervals=0.8),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, its)
    assert again.parts_ == fitted.parts_
    assert again.get_params() == fitted.get_params()
    assert not any(path.suffix in (".pkl", ".pt", ".joblib") for path in (tmp_path / "m").iterdir())


@pytest.mark.parametrize(
    "change",
    [
        lambda facts: facts.update(models=facts["models"][:-1]),
        lambda facts: facts["models"].__setitem__(0, 99),
        lambda facts: facts["models"].__setitem__(0, None),
        lambda facts: facts["blend"]["weights"][0][0].__setitem__(0, -1.0),
        lambda facts: facts["blend"].update(sizes=[[1.0]]),
        lambda facts: facts["standard"].update(scale=[0.0] * 3),
        lambda facts: facts["parts"].pop(),
        lambda facts: facts["params"].update(targets="one"),
        lambda facts: facts.update(more=1),
    ],
)
def test_a_forged_folder_is_refused(fitted, tmp_path, change):
    fitted.save(tmp_path / "m")
    changed(tmp_path / "m", change)
    with pytest.raises(lt.estimators.ModelFolderError):
        lt.load(tmp_path / "m")


def test_a_live_series_is_forecast_as_a_whole_one(fitted):
    one = swings(3, 4)[1]
    data = swings(3, 4)
    for count, (time, values) in enumerate(zip(one.times, one.values, strict=True), 1):
        fitted.update("live", time, values)
        if count % 6 == 0 or count == len(one.times):
            whole = fitted.predict(data.head(count)[1:2], horizons=[0.3, 4.0], intervals=0.8)
            live = fitted.forecast("live", [0.3, 4.0], intervals=0.8)
            for mine, its in zip(live, whole, strict=True):
                np.testing.assert_allclose(mine, its[0], atol=1e-4)
    fitted.reset("live")
    with pytest.raises(ValueError, match="had no sample yet"):
        fitted.forecast("live", [1.0])


def test_known_channels_tell_the_future(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(60):
        t = np.arange(30.0)
        switch = np.where(rng.random(30) < 0.5, 1.0, -1.0)
        rows.append((t, np.stack([5 * switch + 0.1 * rng.normal(size=30), switch], axis=1)))
    data = SeriesSet.from_arrays(rows, channels=["load", "switch"])
    model = forecaster(data[:45], known=["switch"], horizon=5.0)
    blind = forecaster(data[:45], targets=["load"], horizon=5.0)
    assert model.channels_ == ("load",)
    test = data[45:]
    assert model.compare(test)["model"].mse < 0.1 * blind.compare(test)["model"].mse
    future = test.values.copy()
    later = np.arange(30) >= 24
    future[np.tile(later, 15), 0] = np.nan  # what follows is known of the switch alone
    asked = test.replace_unchecked(values=future)
    said = model.predict(asked, horizons=[1.0, 4.0])
    truth = test.values.reshape(15, 30, 2)[:, [24, 27], 0]
    assert np.abs(said[..., 0] - truth).mean() < 2.0
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(lt.load(tmp_path / "m").predict(asked, horizons=[1.0, 4.0]), said)
    for time, values in zip(test[0].times[:24], test[0].values[:24], strict=True):
        model.update("live", time, values)
    switch = test[0].values[[24, 27], 1]
    live = model.forecast("live", [1.0, 4.0], known={"switch": switch})
    np.testing.assert_allclose(live, said[0], atol=1e-4)
    with pytest.raises(ValueError, match="`known` must be one of"):
        model.forecast("live", [1.0], known={"swich": 1.0})
    with pytest.raises(ValueError, match="one for each of 2 times"):
        model.forecast("live", [1.0, 2.0], known={"switch": [1.0]})
    with pytest.raises(ValueError, match="both have 'load'"):
        lt.StackedForecaster(targets=["load"], known=["load"]).fit(data)


def test_all_again_keeps_what_was_chosen(fitted):
    with small_forecasts():
        model = clone(fitted).fit(swings(90, 0))
        weights, rounds = model.blend_.weights, [len(one.trees.trees.roots) for one in model._lags.channels]
        before = model.predict(swings(4, 9), horizons=[2.0])
        model.refit(swings(120, 0), groups=None)
    assert model.n_series_ == 120
    np.testing.assert_array_equal(model.blend_.weights, weights)
    assert [len(one.trees.trees.roots) for one in model._lags.channels] == rounds
    assert np.abs(model.predict(swings(4, 9), horizons=[2.0]) - before).max() > 0


def test_what_is_held_out_is_learned_by_nothing():
    """Poisoned in what a fold holds out, the models of the fold are those of before."""
    data = swings(60, 7)
    for fold in (*forecast_folds(data, 3, 0), *forecast_folds(data, 2, 0, order=np.arange(60))):
        held = np.zeros(60, dtype=bool)
        held[fold.held] = True
        assert (fold.until[held] == 0).all()
        assert len(fold.seen) == (fold.until > 0).sum()
    early = forecast_folds(data, 2, 0, order=np.arange(60)[::-1])
    for fold in early:
        assert fold.held.max() < np.flatnonzero(fold.until > 0).min()
    groups = np.arange(60) // 6
    for fold in forecast_folds(data, 3, 0, groups=groups):
        assert not set(groups[fold.held]) & set(groups[fold.until > 0])
    long = SeriesSet.from_arrays([(np.arange(1000.0), np.zeros((1000, 1)))])
    for fold in forecast_folds(long, 3, 0):
        cut = fold.start * (fold.upto[0] - 1)  # the first cut; what is asked comes after it
        assert fold.until[0] <= int(cut) + 1
        assert 0.5 <= fold.until[0] / 1000 < fold.upto[0] / 1000 <= 1.0
    for groups in (np.arange(60) // 7, np.arange(60) % 7, np.arange(60) % 2):  # the last two recur in every block
        folds = forecast_folds(data, 2, 0, groups, np.arange(60))
        assert len(folds) == 2
        for fold in folds:
            learned = np.flatnonzero(fold.until > 0)
            assert learned.max() < fold.held.min()
            assert not set(groups[learned]) & set(groups[fold.held])
    assert set(np.arange(60)[folds[0].held] % 2) != set(np.arange(60)[folds[1].held] % 2)  # each half in turn
    with pytest.raises(ValueError, match="at least two different groups"):
        forecast_folds(data, 2, 0, np.zeros(60))


def test_series_with_time_stamps_are_judged_by_later_ones_and_side_by_side_ones_by_their_ends():
    start = np.datetime64("2024-01-01", "ns")
    hours = np.arange(48).astype("timedelta64[h]")
    chunks = [(start + np.timedelta64(2 * k, "D") + hours, np.zeros((48, 1))) for k in range(20)]
    stamped = SeriesSet.from_arrays(chunks, time_unit="h")
    for fold in forecast_folds(stamped, 2, 0):
        assert fold.start == 0.0
        assert np.flatnonzero(fold.until > 0).max() < fold.held.min()
    beside = SeriesSet.from_arrays([(start + hours, np.zeros((48, 1)))] * 20, time_unit="h")
    for fold in forecast_folds(beside, 2, 0):
        assert fold.start > 0
        assert len(fold.held) == 20


def test_one_long_series_is_enough():
    rng = np.random.default_rng(0)
    t = np.sort(rng.choice(6000, 2200, replace=False)) / 10.0
    wave = np.sin(2 * np.pi * t / 12.0) + 0.05 * rng.normal(size=len(t))
    model = forecaster(SeriesSet.from_arrays([(t[:1800], wave[:1800, None])]), horizon=10.0)
    assert model.period_ == pytest.approx(12.0, rel=0.05)
    data = SeriesSet.from_arrays([(t[:1800], wave[:1800, None])])
    off = np.abs(model.predict(data, [t[1800:1830]])[0][:, 0] - wave[1800:1830])
    assert off.mean() < 0.25


def test_the_width_of_a_table_is_as_told(fitted):
    features = fitted._features
    cuts = features.at_ends(fitted.cfc_._seen(fitted.encode(swings(3, 1))))
    rows = np.zeros(2, dtype=np.int64)
    table, own = cuts.table(1, rows, cuts.now[rows] + 1.0, np.zeros((2, 0)))
    assert (table.shape[1], own) == features.widths(fitted.encoder_.static_size_)


def test_many_series_are_forecast_some_at_a_time(fitted, monkeypatch):
    data = swings(7, 5)
    ends = data.times[data.offsets[1:] - 1]
    ragged = [end + 0.5 * np.arange(1, 2 + place % 3) for place, end in enumerate(ends)]
    whole = (
        fitted.predict(data, horizons=[0.5, 3.0], intervals=0.8),
        fitted.predict(data, ragged),
        fitted.parts(data, ragged),
    )
    monkeypatch.setattr("liquidtime.estimators.faces.forecasts._CELLS", 12)
    again = (
        fitted.predict(data, horizons=[0.5, 3.0], intervals=0.8),
        fitted.predict(data, ragged),
        fitted.parts(data, ragged),
    )
    for mine, its in zip(whole[0], again[0], strict=True):
        np.testing.assert_allclose(its, mine, atol=1e-4)
    for mine, its in zip(whole[1], again[1], strict=True):
        np.testing.assert_allclose(its, mine, atol=1e-4)
    for name, (said, weights) in whole[2].items():
        for row in range(7):
            np.testing.assert_allclose(again[2][name][0][row], said[row], atol=1e-4)
            np.testing.assert_allclose(again[2][name][1][row], weights[row], atol=1e-6)
    alone = fitted.networks_alone(data, horizons=[1.0])
    np.testing.assert_allclose(alone[:3], fitted.networks_alone(data[:3], horizons=[1.0]), atol=1e-4)


def test_an_outlier_does_not_lead_the_linear_part_anywhere(fitted):
    data = swings(1, 5)
    values = data.values.copy()
    values[-3:-1] = [[1e6, -1e6, 1e6], [-1e6, 1e6, -1e6]]
    values[-1] = data.values[0]
    said = fitted.parts(data.replace_unchecked(values=values), horizons=[1.0, 8.0])
    last = said["last value"][0]
    scale = fitted.cfc_._scene.standard.scale
    assert (np.abs(said["linear"][0] - last) < 12 * scale).all()
