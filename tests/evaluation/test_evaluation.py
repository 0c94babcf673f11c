"""Splits without leaks, figures that are those of the predictions, baselines from the same training part."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import liquidtime as lt
from liquidtime.data import from_arrays
from liquidtime.evaluation import compare, hold_out, report_data
from liquidtime.tasks.classification import codes_of
from liquidtime.tasks.comparison import scores


def some_series(S=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(S) % 2
    parts = []
    for place in range(S):
        times = np.cumsum(rng.exponential(1.0, int(rng.integers(3, 9))))
        parts.append((times, rng.normal(2.0 * y[place], 1.0, (len(times), 2))))
    return from_arrays(parts, channels=["a", "b"]), y


def test_parts_share_nothing_keep_the_classes_and_follow_the_seed():
    classes = np.repeat([0, 1], [80, 20])
    train, test = hold_out(100, 0.3, 1, classes)
    assert sorted([*train, *test]) == list(range(100))
    assert (len(test), classes[test].sum()) == (30, 6)
    assert np.array_equal(test, hold_out(100, 0.3, 1, classes)[1])
    assert not np.array_equal(test, hold_out(100, 0.3, 2, classes)[1])


def test_parts_that_cannot_be_made():
    with pytest.raises(ValueError, match=r"`test_share` must be between 0 and 1; got 0\.0"):
        hold_out(100, 0.0, 0)
    with pytest.raises(ValueError, match="classes have only 1, the first is 2"):
        hold_out(9, 0.3, 0, [0, 0, 0, 0, 1, 1, 1, 1, 2])
    with pytest.raises(ValueError, match="each of 3 classes a series in both parts"):
        hold_out(9, 0.1, 0, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    with pytest.raises(ValueError, match="series to train on and to test on; got 2"):
        hold_out(2, 0.5, 0)


def test_figures_and_baselines():
    data, y = some_series()
    train, test = hold_out(len(data), 0.3, 0, y)
    model = lt.CfCClassifier(hidden_size=16, epochs=3, random_state=0).fit(data[train], y[train])
    found = compare(model, "ours", (data[train], y[train]), (data[test], y[test]))
    assert list(found.figures) == ["ours", "gradient boosting on summary features", "guess (share of each class)"]
    for name, prediction in found.predictions.items():
        assert found.figures[name]["auc"].value == pytest.approx(roc_auc_score(y[test], prediction[:, 1]))
    np.testing.assert_allclose(found.predictions["guess (share of each class)"][:, 1], y[train].mean())
    contents = report_data(
        model, data, {"training": train, "test": test}, found, data[test], title="t", target_name="y"
    )
    best, worst = ([view for view in contents.series if view.kind == kind] for kind in ("best", "worst"))
    assert {view.truth for view in best} == {0.0, 1.0}
    right = {
        str(name): p[code] for name, p, code in zip(data[test].ids, found.predictions["ours"], y[test], strict=True)
    }
    assert max(right[view.id] for view in worst) < min(right[view.id] for view in best)
    for view in contents.series:  # the prediction ends where predict_proba is
        row = list(map(str, data.ids)).index(view.id)
        assert view.evolving[-1] == pytest.approx(model.predict_proba(data[[row]])[0, 1], abs=1e-5)
    assert len(contents.intervals) == len(data.times) - len(data)
    assert (contents.intervals > 0).all()
    assert len(contents.insight.units.units) == 16


def test_what_a_test_part_does_not_define_is_left_out():
    assert set(scores(("auc", "accuracy"), np.zeros(5, int), np.full((5, 2), 0.5))) == {"accuracy"}
    assert set(scores(("mae", "r2"), np.ones(5), np.zeros(5))) == {"mae"}


def test_labels_of_other_types_are_the_same_labels_and_strange_ones_refused():
    assert codes_of(["1", "0"], np.array([0, 1])).tolist() == [1, 0]
    assert codes_of([1.0, 0.0], np.array([0, 1])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="1 of 2 labels are not among them, the first is 7"):
        codes_of([0, 7], np.array([0, 1]))


def test_the_report_and_the_forecaster_have_the_same_errors():
    """Series of unequal length: the means within each series come first, and both are on the encoder's scale."""
    data, _ = some_series()
    model = lt.CfCForecaster(epochs=1, random_state=0).fit(data)
    found = compare(model, "ours", None, (data, None))
    beside = model.compare(data)
    for label, key in (("ours", "model"), ("last value", "last_value"), ("mean so far", "mean_so_far")):
        assert found.figures[label]["mae"].value == pytest.approx(beside[key].mae)
        assert found.figures[label]["mse"].value == pytest.approx(beside[key].mse)
    z = np.stack([model.encoder_.scaling_.column(k, data.values[:, k]) for k in range(2)], axis=1).astype(float)
    off = []
    for start, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        cut = start + min(max(1, int(0.75 * (end - start))), end - start - 1)
        off.append(np.abs(z[cut:end] - z[cut - 1]).mean())
    last = found.figures["last value"]["mae"]
    assert last.value == pytest.approx(np.mean(off), rel=1e-5)
    assert last.low < last.value < last.high
    assert [len(times) for times in found.test.times] == [len(part) for part in found.test.forecasts["model"]]
