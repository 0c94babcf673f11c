"""Without settings of networks a stacked model is trained, beside its networks alone."""

import numpy as np
import pytest

import liquidtime as lt
from estimators.small import TINY, series
from estimators.stacking.quick import small_parts

ALONE = "CfC networks alone"


@pytest.mark.parametrize("kind", [lt.StackedClassifier, lt.StackedRegressor])
def test_the_default_is_stacked_and_stands_beside_its_networks(kind, tmp_path):
    data, labels, level = series(40)
    target = labels if kind is lt.StackedClassifier else level
    with small_parts():
        result = lt.train_and_test(data, target, folder=tmp_path / "m", n_networks=2, refit=False)
    assert type(result.model) is kind
    assert list(result.figures)[:2] == ["stacked model", ALONE]
    assert len(result.figures) == 4
    loaded = lt.load(tmp_path / "m")
    test = data[result.parts["test"]]
    predict = "predict_proba" if kind is lt.StackedClassifier else "predict"
    np.testing.assert_array_equal(getattr(loaded, predict)(test), getattr(result.model, predict)(test))
    page = result.page()
    assert "part: CfC networks" in page
    assert "out of fold" in page


def test_the_test_part_changes_nothing():
    """Poisoned test series and labels: weights, temperature and predictions stay as they are."""
    data, labels, _ = series(40, empty=False)
    with small_parts():
        result = lt.train_and_test(data, labels, n_networks=1, refit=False)
        test = result.parts["test"]
        poisoned = data.values.copy()
        for row in test:
            poisoned[data.offsets[row] : data.offsets[row + 1]] = 1e6
        wrong = labels.copy()
        wrong[test] = np.roll(wrong[test], 1)
        rows = result.parts["training"]
        other_test = lt.train_and_test(data.replace_unchecked(values=poisoned), labels, n_networks=1, refit=False).model
        no_test = lt.StackedClassifier(n_networks=1, random_state=0).fit(data[rows], wrong[rows])
    for other in (other_test, no_test):
        assert (other.parts_, other.calibration_) == (result.model.parts_, result.model.calibration_)
        np.testing.assert_array_equal(other.predict_proba(data[rows]), result.model.predict_proba(data[rows]))


def test_quick_and_settings_of_networks_are_networks_alone():
    data, labels, _ = series(30)
    tiny = {name: value for name, value in TINY.items() if name != "random_state"}
    for more in (tiny, tiny | {"quick": True}):
        result = lt.train_and_test(data, labels, refit=False, **more)
        assert type(result.model) is lt.CfCClassifier
        assert ALONE not in result.figures
    with pytest.raises(TypeError, match="no setting `n_splits`"):
        lt.train_and_test(data, labels, quick=True, n_splits=3)
    with pytest.raises(TypeError, match="`quick`"):
        lt.train_and_test(data, labels, quick=True, estimator=lt.CfCClassifier())
    with pytest.raises(TypeError, match="no setting `epoch`"):
        lt.train_and_test(data, labels, epoch=3)
