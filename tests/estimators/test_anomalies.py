"""Samples beside their own forecasts: how far off they are."""

import numpy as np
import polars as pl
import pytest

import liquidtime as lt
from estimators.small import TINY
from estimators.stacking.small_forecasts import forecaster, swings
from liquidtime.data import SeriesSet


@pytest.fixture(scope="module")
def models():
    data = swings(60, 0)
    return {"networks": lt.CfCForecaster(**TINY | {"n_estimators": 2}).fit(data), "stacked": forecaster(data)}


@pytest.mark.parametrize("kind", ["networks", "stacked"])
def test_a_sample_is_compared_with_the_forecast_of_what_came_before(models, kind):
    model, data = models[kind], swings(5, 3)
    found = model.anomaly_scores(data, level=0.8)
    assert found.scores.shape == (len(data.times), len(model.channels_))
    assert np.isnan(found.scores[data.offsets[:-1]]).all()  # nothing came before
    for row in (1, 3):
        one, begin = data[row], data.offsets[row]
        for k in (1, 2, 7, len(one.times) - 1):
            past = data[row : row + 1].head(k)
            value, low, high = model.predict(past, [one.times[k : k + 1]], intervals=0.8)
            seen = ~np.isnan(past.values[:, :]).all(axis=0) & ~np.isnan(one.values[k])
            for its, mine in ((value, found.forecasts), (low, found.low), (high, found.high)):
                np.testing.assert_allclose(mine[begin + k][seen], its[0][0][seen], atol=2e-4)
                assert np.isnan(mine[begin + k][~seen]).all()
    usual = ~np.isnan(found.scores)
    outside = found.outside[usual]
    assert (np.abs(found.values - found.forecasts)[usual][outside] > 0).all()


def test_what_is_unusual_has_the_largest_score(models):
    data = swings(40, 8)
    values = data.values.copy()
    row = int(data.offsets[4]) + 12
    values[row, 0] = 10 - 9.0  # it swings between 7 and 13
    found = models["stacked"].anomaly_scores(data.replace_unchecked(values=values))
    assert np.nanargmax(found.per_sample) in (row, *range(row + 1, row + 4))
    assert found.scores[row, 0] > 4 * np.nanmedian(found.scores)
    assert found.outside[row, 0]
    clean = models["stacked"].anomaly_scores(swings(60, 9), level=0.9)
    assert clean.outside[~np.isnan(clean.scores)].mean() == pytest.approx(0.1, abs=0.08)


def test_scores_do_not_depend_on_the_set(models, monkeypatch):
    data = swings(6, 5)
    whole = models["stacked"].anomaly_scores(data)
    monkeypatch.setattr("liquidtime.estimators.faces.anomalies._STEPS", 30)
    pieces = models["stacked"].anomaly_scores(data)
    np.testing.assert_allclose(pieces.scores, whole.scores, rtol=1e-3)
    alone = models["stacked"].anomaly_scores(data[2:3])
    np.testing.assert_allclose(alone.scores, whole.scores[data.offsets[2] : data.offsets[3]], rtol=1e-3)
    short = SeriesSet.from_arrays([(np.zeros(1), np.zeros((1, 3))), (np.zeros(0), np.zeros((0, 3)))],
                                  channels=["one", "two", "driver"])  # fmt: skip
    assert np.isnan(models["stacked"].anomaly_scores(short).scores).all()


def test_the_table_has_one_row_per_value(models):
    data, task = swings(4, 6), lt.tasks.TASKS["forecast"]
    table = task.table(models["networks"], data, each_sample=True, intervals=0.9)
    assert table.columns == ["id", "time", "channel", "value", "prediction", "low", "high", "outside", "score"]
    assert len(table) == (~np.isnan(models["networks"].anomaly_scores(data).scores)).sum()
    assert table.select(pl.col("score").is_finite().all()).item()
    with pytest.raises(ValueError, match="`horizons` are not for forecasts of each sample"):
        task.table(models["networks"], data, each_sample=True, horizons=[1.0])
    with pytest.raises(ValueError, match=r"share over 0 and at most 0\.99"):
        models["networks"].anomaly_scores(data, level=1.5)
