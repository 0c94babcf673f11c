import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sktime")
import liquidtime as lt
from estimators.small import TINY

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # sktime's own
    from sklearn.model_selection import KFold
    from sktime.classification.model_selection import TSCGridSearchCV
    from sktime.utils.estimator_checks import check_estimator

    from liquidtime.integrations.sktime import LiquidClassifier, LiquidRegressor

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize(("model", "least"), [(LiquidClassifier, 250), (LiquidRegressor, 140)])
def test_sktimes_own_checks(model, least):
    outcomes = check_estimator(model, verbose=0)
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "PASSED"} == {}
    assert len(outcomes) >= least


def panel(S=24, seed=0, stamps=False):
    """Uneven series, in no order of their names, whose first column tells the class."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(S)
    frames, y = {}, {}
    for name in names:
        count = int(rng.integers(4, 9))
        times = np.cumsum(rng.integers(1, 9, count))
        index = pd.Timestamp("2024-01-01") + pd.to_timedelta(times, "h") if stamps else pd.Index(times)
        y[name] = "high" if name % 2 else "low"
        frames[name] = pd.DataFrame({"x": rng.normal(size=count) + 3 * (name % 2), "k": rng.normal(size=count)}, index)
    return pd.concat(frames, names=["series", "time"]), np.array(list(y.values()))


@pytest.mark.parametrize("stamps", [False, True])
def test_the_times_of_a_panel_are_used_and_its_order_is_kept(stamps):
    X, y = panel(stamps=stamps)
    model = LiquidClassifier(lt.CfCClassifier(**TINY | {"epochs": 30})).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9  # by chance half of them, were the order another
    slower = X.copy()
    when = X.index.get_level_values(1)
    later = when[0] + (when - when[0]) * 50 if stamps else when * 50
    slower.index = pd.MultiIndex.from_arrays([X.index.get_level_values(0), later], names=X.index.names)
    assert np.abs(model.predict_proba(slower) - model.predict_proba(X)).max() > 1e-4


def test_months_are_times_and_texts_are_categories():
    index = pd.MultiIndex.from_product([range(8), pd.period_range("2020-01", periods=5, freq="M")])
    X = pd.DataFrame({"x": np.arange(40.0), "ward": ["north", "south"] * 20}, index=index)
    model = LiquidRegressor(lt.CfCRegressor(**TINY)).fit(X, np.arange(8.0))
    assert model.estimator_.encoder_.categories_["ward"] == ("north", "south")
    assert model.predict(X).shape == (8,)


def test_settings_of_the_estimator_inside_can_be_searched_by_sktime():
    X, y = panel(12)
    model = LiquidClassifier(lt.CfCClassifier(**TINY))
    search = TSCGridSearchCV(model, {"estimator__hidden_size": [2, 3]}, cv=KFold(2), error_score="raise").fit(X, y)
    assert search.best_params_["estimator__hidden_size"] == search.best_estimator_.estimator_.hidden_size


def test_another_kind_of_estimator_is_refused():
    X, y = panel(4)
    with pytest.raises(TypeError, match="must be a classifier of liquidtime"):
        LiquidClassifier(lt.CfCRegressor()).fit(X, y)
