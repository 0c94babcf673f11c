"""The portfolio's records and its table, on made-up sets and results."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import portfolio
from benchmarks.portfolio_data import CLASSIFY, REGRESS, SAMPLES, PortfolioSet
from benchmarks.portfolio_models import MODELS, OF_SAMPLES, LeftOut, common_length, make
from estimators.small import series
from liquidtime.baselines.features.resampling import Resampled
from liquidtime.paper.pages.portfolio import TITLES, difference, portfolio_markdown, portfolio_rows


@pytest.fixture(scope="module")
def sets():
    data, labels, level = series(50, empty=False)
    groups = np.repeat(np.arange(10), 5)
    return {
        "classes": PortfolioSet("classes", CLASSIFY, "accuracy", data, labels),
        "two": PortfolioSet("two", CLASSIFY, "auc", data, (level > 0).astype(int)),
        "values": PortfolioSet("values", REGRESS, "rmse", data, level, groups=groups),
    }


def test_every_model_has_a_title_in_the_table():
    assert set(TITLES) == set(MODELS)


def test_seeds_are_tested_on_different_series_and_groups_stay_whole(sets):
    tested = [set(portfolio.split(sets["classes"], seed)[3]) for seed in range(5)]
    assert sum(map(len, tested)) == len(set.union(*tested)) == 50
    train, _, _, units = portfolio.split(sets["values"], 1)
    assert not set(map(str, train.groups)) & set(units)


def test_a_record_becomes_a_line_of_the_table(sets, tmp_path):
    (tmp_path / "portfolio").mkdir()
    for name, metric in (("classes", "accuracy"), ("two", "auc"), ("values", "rmse")):
        record = portfolio.run(sets[name], "guess", 0)
        portfolio.write(tmp_path / "portfolio", name, "guess", 0, record)
        assert metric in record["figures"]
        assert len(record["series"]["unit"]) == record["sizes"]["test"]
    rows = portfolio_rows(tmp_path)
    assert [row["set"] for row in rows] == ["classes", "two", "values"]
    assert rows[0]["log_loss"] == pytest.approx(np.log(3), rel=0.02)
    assert rows[2]["log_loss"] is None
    assert "| two | auc | guess | 0.500 |" in portfolio_markdown(tmp_path)


def test_samples_of_a_series_stay_on_one_side_and_their_interval_goes_by_series(sets):
    data, y = sets["two"].data, sets["two"].y
    hours = np.concatenate([np.arange(n) >= n // 2 for n in data.lengths]) & np.repeat(y == 1, data.lengths)
    one = PortfolioSet("hours", SAMPLES, "auc", data, y, step_labels=hours.astype(int))
    train, test, target, units = portfolio.split(one, 0)
    assert len(train.target) == train.data.lengths.sum()
    assert len(target) == len(units) == test.lengths.sum()
    assert not set(units) & {str(name) for name in train.data.ids}
    assert target.sum() == sum(hours[np.repeat(np.isin(data.ids, test.ids), data.lengths)])
    record = portfolio.run(one, "boosting", 0)
    low, high = record["interval"]
    assert low < record["figures"]["auc"] < high
    assert "series" not in record
    assert set(OF_SAMPLES) < set(MODELS)
    with pytest.raises(LeftOut):
        make("multirocket-hydra", SAMPLES, 0)


def stored(folder, model, seed, squared_errors, units, **more):
    record = {
        "metric": "rmse",
        "figures": {"rmse": float(np.sqrt(np.mean(squared_errors)))},
        "series": {"unit": units, "squared_error": list(squared_errors)},
        **more,
    }
    folder.mkdir(exist_ok=True)
    portfolio.write(folder, "made-up", model, seed, record)


def test_differences_are_paired_and_go_by_groups(tmp_path):
    rng = np.random.default_rng(0)
    units = [f"g{k // 4}" for k in range(40)]
    for seed in range(2):
        easy = rng.exponential(size=40)
        own = [f"{seed}-{unit}" for unit in units]
        stored(tmp_path / "portfolio", "default", seed, easy, own, parts={"boosting": {"weight": 1.0, "rmse": 0.5}})
        stored(tmp_path / "portfolio", "lightgbm", seed, easy + 0.1, own)
    rows = {row["model"]: row for row in portfolio_rows(tmp_path)}
    assert rows["default"]["difference"] is None
    assert rows["default"]["best_part"] == 0.5
    value, low, high = rows["lightgbm"]["difference"]
    assert 0 < low < value < high < 0.15  # as far apart as errors of one series, not as the series among each other
    assert value == pytest.approx(rows["lightgbm"]["value"] - rows["default"]["value"])
    assert "**+0.0" in portfolio_markdown(tmp_path)
    results = {0: json.loads((tmp_path / "portfolio" / "made-up-default-seed0.json").read_text())}
    assert difference("rmse", results, {}) is None
    other = {0: {**results[0], "series": {**results[0]["series"], "unit": units}}}
    with pytest.raises(ValueError, match="same series"):
        difference("rmse", results, other)


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "portfolio").mkdir()
    (tmp_path / "portfolio" / "a.json").write_text('{"key": 1}')
    with pytest.raises(ValueError, match=r"a\.json is not a result file: it has no 'metric'"):
        portfolio_rows(tmp_path)
    (tmp_path / "portfolio" / "a.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.json is not a result file"):
        portfolio_rows(tmp_path)


def test_series_of_one_length_are_cut_or_filled_up():
    series_ = Resampled(np.array([3, 5]), np.arange(16, dtype=np.float32).reshape(2, 8))
    table = common_length(series_, 4)
    np.testing.assert_array_equal(table[0], [[0, 1, 2, 0], [8, 9, 10, 0]])
    np.testing.assert_array_equal(table[1], [[3, 4, 5, 6], [11, 12, 13, 14]])


def test_lightgbm_of_the_bench_extra_can_be_fitted(sets):
    pytest.importorskip("lightgbm")
    train, test, y, _ = portfolio.split(sets["classes"], 0)
    chances = make("lightgbm", CLASSIFY, 0).fit(train).predict(test)
    assert (np.array(list("abc"))[chances.argmax(axis=1)] == y).mean() > 0.5


def test_every_committed_result_is_in_the_page():
    root = Path(__file__).parents[2]
    page = (root / "RESULTS.md").read_text(encoding="utf-8")
    for row in portfolio_rows(root / "results"):
        assert f"| {row['set']} |" in page


def test_no_default_of_the_results_is_far_worse_than_its_best_part_or_the_guess():
    rows = portfolio_rows(Path(__file__).parents[2] / "results")
    rows_of = {(row["set"], row["model"]): row for row in rows}
    defaults = [row for row in rows if row["model"] == "default"]
    assert len(defaults) >= 10
    for row in defaults:
        error, best = (_error(row["metric"], row[name]) for name in ("value", "best_part"))
        assert error <= 1.05 * best, f"{row['set']}: error {error:.4g} where its best part has {best:.4g}"
        guess = rows_of.get((row["set"], "guess"))
        if guess is not None:
            assert error < _error(row["metric"], guess["value"])
        if guess is not None and row["log_loss"] is not None:
            assert row["log_loss"] < 0.95 * guess["log_loss"]


def test_forecasts_of_the_results_are_no_worse_than_naive_ones_at_any_gap():
    paths = sorted((Path(__file__).parents[2] / "results" / "portfolio").glob("*-default-seed*.json"))
    forecasts = [record for record in map(json.loads, (path.read_text() for path in paths)) if "mse_by_gap" in record]
    assert len(forecasts) >= 3
    for record in forecasts:
        by_gap = record["mse_by_gap"]
        naive = [name for name in ("last value", "straight line", "mean so far", "seasonal naive") if name in by_gap]
        for gap, error in by_gap["model"].items():
            assert error <= min(by_gap[name][gap] for name in naive), (record["key"], gap)


def _error(metric, value):
    return value if metric in ("rmse", "mse", "mse_e3") else 1.0 - value
