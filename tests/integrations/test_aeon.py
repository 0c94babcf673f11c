import warnings

import numpy as np
import pytest

pytest.importorskip("numba")
pytest.importorskip("aeon")
import liquidtime as lt
from estimators.small import TINY

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # aeon's own, and numba's
    from aeon.classification.compose import ClassifierPipeline
    from aeon.testing.estimator_checking import parametrize_with_checks
    from aeon.transformations.collection import Normalizer

    from liquidtime.integrations.aeon import LiquidClassifier, LiquidRegressor

    every_check = parametrize_with_checks([LiquidClassifier, LiquidRegressor])

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]


@every_check
def test_aeons_own_checks(check):
    check()


def unequal(S=24, seed=0):
    """Series (C, T_i) whose first channel tells the class."""
    rng = np.random.default_rng(seed)
    y = np.array(["low", "high"])[np.arange(S) % 2]
    X = [rng.normal(size=(2, int(rng.integers(5, 12)))) + np.array([[3.0 * (kind == "high")], [0.0]]) for kind in y]
    X[0][1, 2] = np.nan
    return X, y


def test_it_predicts_what_the_estimator_inside_predicts_of_the_same_series():
    X, y = unequal()
    pairs = [(np.arange(x.shape[1]), x.T) for x in X]
    ours = lt.CfCClassifier(**TINY).fit(pairs, y)
    wrapped = LiquidClassifier(lt.CfCClassifier(**TINY)).fit(X, y)
    np.testing.assert_array_equal(wrapped.predict_proba(X), ours.predict_proba(pairs))
    assert list(wrapped.classes_) == ["high", "low"]


def test_a_block_of_channels_by_times_is_read_in_aeons_order():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 2, 30))
    model = LiquidRegressor(lt.CfCRegressor(**TINY)).fit(X, X.mean(axis=(1, 2)))
    assert model.estimator_.encoder_.channels_ == ("0", "1")
    assert model.predict(X).shape == (12,)


def test_a_seed_makes_a_pipeline_of_aeon_repeatable():
    X, y = unequal()
    X = np.stack([np.nan_to_num(x[:, :5]) for x in X])
    pipe = ClassifierPipeline([Normalizer()], LiquidClassifier(lt.CfCClassifier(**TINY), random_state=3))
    again = ClassifierPipeline([Normalizer()], LiquidClassifier(lt.CfCClassifier(**TINY), random_state=3))
    np.testing.assert_array_equal(pipe.fit(X, y).predict_proba(X), again.fit(X, y).predict_proba(X))


@pytest.mark.parametrize(
    ("model", "estimator", "words"),
    [
        (LiquidClassifier, lt.CfCRegressor(), "must be a classifier of liquidtime"),
        (LiquidRegressor, lt.CfCForecaster(), "must be a regressor of liquidtime"),
        (LiquidClassifier, lt.CfCClassifier(per_step=True), "one class per series"),
        (LiquidClassifier, "cfc", r"such as lt.CfCClassifier\(\); got str"),
    ],
)
def test_another_kind_of_estimator_is_refused(model, estimator, words):
    X, y = unequal(4)
    with pytest.raises(TypeError, match=words):
        model(estimator).fit(X, np.arange(4.0) if model is LiquidRegressor else y)
