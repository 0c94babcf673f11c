"""A single value of a million among values of one changes neither the scale of forecasts nor what is forecast."""

import warnings

import numpy as np
import pytest

import liquidtime as lt
from estimators.stacking.small_forecasts import forecaster, small_forecasts, swings
from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.forecast_test import forecast_test

FAULT = 1e6


def with_faults(data, every):
    """Return series of which one value in `every` is a million, and the same with these values missing."""
    spoilt, gone = data.values.copy(), data.values.copy()
    for place, value in ((spoilt, FAULT), (gone, np.nan)):
        place[3::every, 0] = np.where(np.isnan(place[3::every, 0]), np.nan, value)
    return data.replace_unchecked(values=spoilt), data.replace_unchecked(values=gone)


@pytest.fixture(scope="module")
def models():
    spoilt, gone = with_faults(swings(60, 0), 300)
    with pytest.warns(UserWarning, match="values of 'one' lie more than 100 times"):
        first = forecaster(spoilt, targets=["one", "two"])
    return first, forecaster(gone, targets=["one", "two"])


def test_a_stack_trained_on_faults_is_that_trained_without_them(models):
    data = swings(20, 5)
    spoilt, clean = (model.predict(data, horizons=[0.5, 3.0], intervals=0.9) for model in models)
    for mine, its in zip(spoilt, clean, strict=True):
        np.testing.assert_array_equal(mine, its)
    assert models[0].blend_.weights.tolist() == models[1].blend_.weights.tolist()


def test_faults_are_not_forecast_from_alone_live_nor_from_a_folder(models, tmp_path):
    model = models[0]
    spoilt, gone = with_faults(swings(20, 5), 25)
    said = model.predict(spoilt, horizons=[0.5, 3.0])
    np.testing.assert_array_equal(said, model.predict(gone, horizons=[0.5, 3.0]))
    assert np.abs(said).max() < 100
    model.save(tmp_path / "m")
    again = lt.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(spoilt, horizons=[0.5, 3.0]), said)
    one = spoilt[2]
    assert FAULT in one.values
    for time, values in zip(one.times, one.values, strict=True):
        again.update("live", time, values)
    np.testing.assert_allclose(again.forecast("live", [0.5, 3.0]), said[2], atol=1e-4)


def test_faults_are_not_tested_on_but_are_anomalies(models):
    model = models[0]
    spoilt, gone = with_faults(swings(20, 5), 25)
    figures = [forecast_test(model, data).skills() for data in (spoilt, gone)]
    for name, skill in figures[0].items():
        assert skill == figures[1][name]
    scores = model.anomaly_scores(spoilt)
    later = np.isin(np.arange(len(spoilt.times)), spoilt.offsets[:-1], invert=True)
    faults = (spoilt.values[:, 0] == FAULT) & later
    assert scores.scores[faults, 0].min() > 100 * np.nanmax(scores.scores[~faults, 0])


def test_networks_alone_and_a_second_fit_leave_faults_out_and_ordinary_series_are_left_alone():
    spoilt, gone = with_faults(swings(30, 0), 300)
    with small_forecasts():
        model = lt.StackedForecaster(n_networks=1, random_state=0, targets=["one"])._networks()
    with pytest.warns(UserWarning, match="read as not observed"):
        model.fit(spoilt)
    with pytest.warns(UserWarning, match="read as not observed"):
        model.refit(spoilt)
    assert model._scene.standard.scale[0] < 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model.refit(gone).encoder_.plausible.bounds


def test_known_channels_are_read_as_they_are():
    data = swings(60, 0)
    values = data.values.copy()
    values[3::300, 2] = FAULT
    model = forecaster(SeriesSet(offsets=data.offsets, times=data.times, values=values, channels=data.channels),
                       known=["driver"])  # fmt: skip
    assert not model.encoder_.plausible.bounds
