"""The records of forecasts: what each unit contributes, and what is left when they are drawn again."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import portfolio, portfolio_forecast
from benchmarks.portfolio_forecast import PHYSIONET, STORMS, Exam
from estimators.small import series
from liquidtime.paper.pages.portfolio import MODEL, difference, forecasts_by_gap, forecasts_markdown


@pytest.mark.parametrize(("name", "metric"), [(STORMS, "mse"), (PHYSIONET, "mse_e3")])
def test_the_figure_is_the_mean_of_what_units_contribute(name, metric, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(portfolio_forecast, "_kilometres", lambda *_: np.zeros(24))
    monkeypatch.setattr(portfolio_forecast, "_gaps", lambda _: np.tile([6, 12, 24, 48], 6))
    past = series(6, empty=False)[0]
    times = [past.times[end - 1] + np.arange(1.0, 5.0) for end in past.offsets[1:]]
    truth = [np.where(rng.random((4, 2)) < 0.3, np.nan, rng.normal(size=(4, 2))) for _ in times]
    exam = Exam(past, past, times, truth, 4.0, np.array([1.0, 2.0]), ["a", "a", "b", "c", "c", "c"])
    records = {}
    for size in (0.5, 1.0):
        said = [own + size * rng.normal(size=own.shape) for own in truth]
        said = [np.nan_to_num(own) for own in said]
        table = portfolio_forecast.by_unit(name, exam, said)
        value = portfolio_forecast.figures(name, exam, said)[metric]
        assert table["unit"] == ["a", "b", "c"]
        assert np.mean(table["squared_error"]) == pytest.approx(value, rel=1e-4)
        records[size] = {0: {"figures": {metric: value}, "series": table}}
    found = difference(metric, records[1.0], records[0.5])
    assert found[0] == pytest.approx(records[1.0][0]["figures"][metric] - records[0.5][0]["figures"][metric], rel=1e-3)
    assert found[1] <= found[0] <= found[2]


def test_no_naive_forecast_is_better_at_any_gap():
    rows = forecasts_by_gap(Path(__file__).parents[2] / "results")
    assert {row["set"] for row in rows} == set(portfolio_forecast.SETS)
    for row in rows:
        for name in ("last value", "straight line", "seasonal naive", "mean so far"):
            assert row["mse"][MODEL] <= row["mse"][name], (row["set"], row["gap"], name)


def test_the_table_by_gap_has_the_naive_forecasts_beside_the_default(tmp_path):
    (tmp_path / "portfolio").mkdir()
    assert forecasts_markdown(tmp_path) == ""
    gaps = {"model": {"0 to 3": 0.1}, "network": {"0 to 3": 0.2}, "last value": {"0 to 3": 0.3}}
    portfolio.write(tmp_path / "portfolio", STORMS, "default", 0, {"metric": "mse", "figures": {}, "mse_by_gap": gaps})
    page = forecasts_markdown(tmp_path)
    assert "| set | gap | **default** | CfC networks alone | last value |" in page
    assert "| storms | 0 to 3 | 0.1 | 0.2 | 0.3 |" in page
