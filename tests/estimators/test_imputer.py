"""Gaps filled from both sides."""

import numpy as np
import pytest

import liquidtime as lt
from cli.tables import lt as command
from estimators.small import TINY
from liquidtime.data import SeriesSet
from liquidtime.estimators.forecast.both_directions import Side, both_directions, filled, hidden, pieces_of
from liquidtime.export.of_model import step_of

QUICK = TINY | {"epochs": 8}


def curves(S, seed, samples=40):
    """Return series of two channels: a smooth curve, and its slope with noise, at irregular times, with gaps."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(S):
        t = np.sort(rng.choice(400, samples, replace=False)) / 10.0
        phase, level = rng.uniform(0, 6), rng.normal()
        values = np.stack(
            [level + 2 * np.sin(t / 3 + phase), np.cos(t / 3 + phase) + 0.1 * rng.normal(size=samples)], axis=1
        )
        values[rng.random(values.shape) < 0.15] = np.nan
        rows.append((t, values))
    return SeriesSet.from_arrays(rows, channels=["level", "slope"])


@pytest.fixture(scope="module")
def fitted():
    return lt.CfCImputer(**QUICK).fit(curves(60, 0))


def test_time_runs_both_ways():
    data = curves(3, 0)
    both = both_directions(data)
    assert len(both) == 6
    for row in range(3):
        there, back = both[row], both[row + 3]
        np.testing.assert_array_equal(there.times, data[row].times)
        np.testing.assert_array_equal(back.values, there.values[::-1])
        np.testing.assert_allclose(np.diff(back.times), np.diff(there.times)[::-1], atol=1e-9)
    np.testing.assert_array_equal(both.static[:, -1], [0, 0, 0, 1, 1, 1])


def test_the_nearer_and_surer_side_counts_more():
    ones = np.ones((1, 1))
    near = Side(5 * ones, 0.1 * ones, 5 * ones, 1 * ones, ones > 0)
    far = Side(9 * ones, 1.0 * ones, 9 * ones, 3 * ones, ones > 0)
    parts, gap = filled(near, far, np.array([[2.0]]))
    both, nearest, between, mean, _ = parts[0, 0]
    assert 5.0 < both < 5.1
    assert (nearest, between, mean, gap[0, 0]) == (5.0, 6.0, 2.0, 1.0)
    nothing = Side(0 * ones, 0 * ones, 0 * ones, 0 * ones, ones < 0)
    alone, gap = filled(nothing, far, np.array([[np.nan]]))
    assert (alone[0, 0] == 9.0).all()
    assert gap[0, 0] == 3.0


def test_it_fills_gaps_better_than_what_needs_no_training(fitted):
    result = fitted.held_out_
    assert result["mixture"] <= 1.02 * min(result["nearest value"], result["linear interpolation"])
    comparison = lt.tasks.TASKS["impute"].compare(fitted, "model", None, (curves(40, 1), None))
    mse = {name: row["mse"].value for name, row in comparison.figures.items()}
    assert list(mse) == ["model", "nearest value", "linear interpolation", "mean of the series"]
    assert mse["model"] < 1.05 * min(mse.values())
    assert comparison.figures["model"]["coverage_90"].value == pytest.approx(0.9, abs=0.1)


def test_measured_values_stay_and_answers_tend_to_them(fitted):
    data = curves(6, 2)
    full = fitted.impute(data)
    assert not np.isnan(full.values).any()
    known = ~np.isnan(data.values)
    np.testing.assert_array_equal(full.values[known], data.values[known])
    at = [one.times[5:6] for one in data]
    exact = [fitted.predict(data, [each + shift for each in at]) for shift in (0.0, 1e-4, -1e-4)]
    for row, one in enumerate(data):
        seen = ~np.isnan(one.values[5])
        for answer in exact:
            np.testing.assert_allclose(answer[row][0][seen], one.values[5][seen], atol=0.02)


def test_any_time_can_be_asked_for_with_intervals(fitted):
    data = curves(4, 3)
    value, low, high = fitted.predict(data, np.array([-3.0, 10.05, 20.0, 60.0]), intervals=0.8)
    assert value.shape == (4, 4, 2)
    assert ((low <= value) & (value <= high)).all()
    width = (high - low)[:, :, 0].mean(axis=0)
    assert width[[0, 3]].min() > width[[1, 2]].max()  # beyond the ends less is known
    together = fitted.predict(data, [np.array([10.05, 20.0])] * 4)
    np.testing.assert_allclose(np.stack(together), value[:, 1:3], atol=1e-4)
    empty = SeriesSet.from_arrays([(np.zeros(0), np.zeros((0, 2))), (np.arange(3.0), np.full((3, 2), np.nan))],
                                  channels=["level", "slope"])  # fmt: skip
    assert np.isfinite(fitted.predict(empty, np.array([1.0]))).all()
    assert np.isfinite(fitted.impute(empty).values).all()


def test_what_is_hidden_is_not_seen(fitted):
    data = curves(20, 4)
    gone = hidden(data, [0, 1], 0)
    assert 0.05 < gone.sum() / (~np.isnan(data.values)).sum() < 0.35
    poisoned = data.values.copy()
    poisoned[gone] = 1e6
    task = lt.tasks.TASKS["impute"]
    clean, changed = (
        task.compare(fitted, "model", None, (which, None)).values
        for which in (data, data.replace_unchecked(values=poisoned))
    )
    np.testing.assert_array_equal(clean, changed)


def test_one_long_series_is_cut_into_pieces():
    long = SeriesSet.from_arrays([(np.arange(400.0), np.sin(np.arange(400.0) / 5)[:, None])])
    pieces, owner = pieces_of(long)
    assert len(pieces) == 10
    assert (owner == 0).all()
    np.testing.assert_array_equal(pieces.times, long.times)
    model = lt.CfCImputer(**QUICK | {"epochs": 2}).fit(long)
    values = long.values.copy()
    values[100:103] = np.nan
    filled_in = model.impute(long.replace_unchecked(values=values)).values[100:103]
    assert np.abs(filled_in - long.values[100:103]).max() < 0.5
    with pytest.raises(ValueError, match="at least two series of two samples"):
        lt.CfCImputer(**QUICK).fit(long.head(3))


def test_a_folder_fills_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    again, data = lt.load(tmp_path / "m"), curves(3, 5)
    assert type(again) is lt.CfCImputer
    for mine, its in zip(fitted.predict(data, intervals=0.9), again.predict(data, intervals=0.9), strict=True):
        np.testing.assert_array_equal(np.concatenate(mine), np.concatenate(its))
    assert again.held_out_ == fitted.held_out_


def test_what_makes_no_sense_is_refused(fitted):
    data = curves(12, 0)
    for settings, words in (
        ({"known": ["level"]}, "`known` is for forecasts"),
        ({"bin_width": 1.0}, "`bin_width` must be None"),
    ):
        with pytest.raises(ValueError, match=words):
            lt.CfCImputer(**QUICK | settings).fit(data)
    with pytest.raises(ValueError, match="a stream has no samples after a gap"):
        step_of(fitted)
    with pytest.raises(ValueError, match="`horizons` are for forecasts"):
        fitted.predict(data, horizons=[1.0])
    with pytest.raises(ValueError, match="one array per series, 12; got 1"):
        fitted.predict(data, [np.zeros(1)])
    with pytest.raises(ValueError, match="finite numbers"):
        fitted.predict(data, np.array([np.nan]))


def test_the_command_line_trains_reports_and_fills(tmp_path):
    data = curves(24, 6)
    rows = ["id,when,level,slope"]
    for one in data:
        for time, values in zip(one.times, one.values, strict=True):
            cells = ",".join("" if np.isnan(value) else f"{value:.4f}" for value in values)
            rows.append(f"{one.id},{time},{cells}")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    code, out, err = command(
        "train", tmp_path / "table.csv", "--id", "id", "--time", "when", "--task", "impute", "--no-refit",
        "--epochs", 2, "--hidden-size", 8, "--out", tmp_path / "model",
    )  # fmt: skip
    assert code == 0, err
    assert "linear interpolation" in out + err
    assert "linear interpolation" in (tmp_path / "model" / "report.html").read_text()
    code, _, err = command("predict", tmp_path / "model", tmp_path / "table.csv", "--out", tmp_path / "gaps.csv")
    assert code == 0, err
    lines = (tmp_path / "gaps.csv").read_text().splitlines()
    assert lines[0] == "id,time,channel,prediction,low,high"
    assert len(lines) - 1 == int(np.isnan(data.values).sum())
