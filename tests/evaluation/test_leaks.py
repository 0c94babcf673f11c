"""Poisoned test parts: nothing that is trained, chosen or compared may notice them."""

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series
from estimators.stacking.quick import small_parts
from liquidtime.evaluation import compare

QUICK = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 2}
S, TEST = 36, 12
_DATA, _LABELS, _LEVEL = series(S + TEST, empty=False)


def poisoned(data, rows):
    """The set with huge values in the first half of some rows and none at all in the second."""
    values = data.values.copy()
    for place, row in enumerate(rows):
        values[data.offsets[row] : data.offsets[row + 1]] = 1e6 if place < len(rows) / 2 else np.nan
    return data.replace_unchecked(values=values, static=data.static * 1.0)


TASKS = {
    "classes": (_LABELS, QUICK | {"validation_fraction": 0.25}),
    "classes, stacked": (_LABELS, {"n_networks": 1}),
    "values": (_LEVEL, QUICK | {"validation_fraction": 0.25}),
    "values, stacked": (_LEVEL, {"n_networks": 1}),
}


@pytest.mark.parametrize("name", TASKS)
def test_a_poisoned_test_part_changes_no_model_no_baseline_and_no_choice(name):
    target, settings = TASKS[name]
    train, test, y, y_test = _DATA[:S], _DATA[S:], target[:S], target[S:]
    clean = np.arange(0, TEST, 2)
    spoiled = poisoned(test, np.arange(1, TEST, 2))
    wrong = y_test[::-1].copy() if target is _LABELS else -1e6 * y_test
    with small_parts():
        found = [
            lt.train_and_test(train, y, test=one, refit=False, seed=3, **settings)
            for one in ((test, y_test), (spoiled, wrong))
        ]
    one, other = (result.comparison.predictions for result in found)
    assert list(one) == list(other)
    assert len(one) >= 3
    for model in one:
        np.testing.assert_array_equal(one[model][clean], other[model][clean], err_msg=model)
    networks = [getattr(result.model, "cfc_", result.model) for result in found]
    for mine, its in zip(*(model.results_ for model in networks), strict=True):
        assert mine.best_epoch == its.best_epoch
        assert [row["loss"] for row in mine.history] == [row["loss"] for row in its.history]


def test_baselines_are_fitted_to_the_training_part():
    """Where all training series look alike, they say of every test series what training says, and not what is true."""
    train, test = _DATA[:S], _DATA[S:]
    alike = train.replace_unchecked(values=np.zeros_like(train.values), static=np.zeros_like(train.static))
    other = {lt.CfCClassifier: np.array(["a"] * (TEST - 1) + ["b"]), lt.CfCRegressor: 100.0 + _LEVEL[S:]}
    for face, target in ((lt.CfCClassifier, _LABELS[:S]), (lt.CfCRegressor, _LEVEL[:S])):
        model = face(**TINY | {"epochs": 1}).fit(train, target)
        found = compare(model, "model", (alike, target), (test, other[face])).predictions
        learned = [np.mean(target == one) for one in "abc"] if face is lt.CfCClassifier else [target.mean()]
        assert len(found) == 3
        for name, said in list(found.items())[1:]:
            rows = np.asarray(said).reshape(TEST, -1)
            np.testing.assert_allclose(rows, np.tile(learned, (TEST, 1)), atol=1e-3, err_msg=name)


def test_forecasts_and_naive_forecasts_know_nothing_of_poisoned_test_series():
    rng = np.random.default_rng(0)
    rows = [(np.arange(16.0), rng.normal(size=(16, 2)).cumsum(axis=0)) for _ in range(20)]
    data = lt.SeriesSet.from_arrays(rows)
    far = lt.SeriesSet.from_arrays(rows[:18] + [(t, 1e4 * v) for t, v in rows[18:]])
    settings = QUICK | {"seed": 3, "refit": False}
    one, other = (
        lt.train_and_test(each[:14], test=each[14:], **settings).comparison.predictions for each in (data, far)
    )
    assert len(one) >= 4
    for model in one:
        np.testing.assert_array_equal(one[model][: 4 * 4 * 2], other[model][: 4 * 4 * 2], err_msg=model)
