"""Sample weights, thresholds, intervals and metadata routing of the estimators."""

import numpy as np
import pytest
import sklearn
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import GroupKFold, cross_validate

import liquidtime as lt
from estimators.small import TINY, series
from estimators.stacking.quick import small_parts
from liquidtime.estimators.faces.intervals import Residuals
from liquidtime.estimators.faces.threshold import ThresholdRule, choose_threshold, read_threshold
from liquidtime.estimators.network.members import folds

ONE_EPOCH = TINY | {"epochs": 1}


@pytest.fixture(scope="module")
def problem():
    data, _, level = series(45, empty=False)
    return data, (level > 0.3).astype(int), level


@pytest.mark.parametrize("kind", [lt.CfCClassifier, lt.CfCRegressor])
def test_weights_of_one_are_none_and_others_change_the_fit(kind, problem):
    data, labels, level = problem
    y = labels if kind is lt.CfCClassifier else level
    predict = "predict_proba" if kind is lt.CfCClassifier else "predict"
    plain, ones, heavy = (
        getattr(kind(learning_rate=0.02, **ONE_EPOCH).fit(data, y, w), predict)(data)
        for w in (None, np.full(45, 3.0), np.where(labels == 1, 50.0, 1.0))
    )
    np.testing.assert_allclose(ones, plain, atol=2e-5)
    higher = heavy[:, 1] if heavy.ndim == 2 else heavy
    lower = plain[:, 1] if plain.ndim == 2 else plain
    assert higher.mean() > lower.mean() + 0.005


@pytest.mark.parametrize("kind", [lt.StackedClassifier, lt.StackedRegressor])
def test_stacks_weigh_series_in_every_part(kind, problem):
    data, labels, level = problem
    y = labels if kind is lt.StackedClassifier else level
    with small_parts():
        plain, heavy = (
            kind(n_networks=1, n_splits=3, random_state=0).fit(data, y, w)
            for w in (None, np.where(labels == 1, 50.0, 1.0))
        )
    for name, said in plain.predict_parts(data).items():
        other = heavy.predict_parts(data).get(name)
        assert other is None or other[:, -1].mean() > said[:, -1].mean(), name


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("f1", lambda y, d: f1_score(y, d, zero_division=0)),
        ("balanced-accuracy", balanced_accuracy_score),
        ("cost=1:5", lambda y, d: -(((d == 1) & (y == 0)).sum() + 5 * ((d == 0) & (y == 1)).sum())),
    ],
)
def test_a_threshold_is_the_best_there_is(text, score):
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    p = np.clip(0.3 * y + rng.random(300) * 0.7, 0, 1).round(2)
    chosen = choose_threshold(p, y, read_threshold(text))
    best = max(score(y, (p >= edge).astype(int)) for edge in np.linspace(0, 1.01, 102) - 0.005)
    assert score(y, (p >= chosen).astype(int)) == pytest.approx(best)


def test_a_threshold_keeps_the_rate_that_is_asked_for():
    rng = np.random.default_rng(1)
    y = (rng.random(400) < 0.4).astype(int)
    p = np.clip(0.2 * y + rng.random(400) * 0.8, 0, 1)
    chosen = choose_threshold(p, y, read_threshold("specificity=0.9"))
    assert (p[y == 0] < chosen).mean() >= 0.9
    lower = np.sort(p)[np.searchsorted(np.sort(p), chosen) - 1]
    assert (p[y == 0] < lower).mean() < 0.9 or (p[y == 1] >= lower).mean() == (p[y == 1] >= chosen).mean()
    assert read_threshold("sensitivity=0.8") == ThresholdRule("specificity", "sensitivity", 0.8)
    assert (read_threshold("0.25"), read_threshold(0.25), read_threshold(None)) == (0.25, 0.25, None)
    for wrong in ("best", 0, 1.0, "specificity=2", "cost=1:0", True, "cost=1:5:2", "sensitivity=."):
        with pytest.raises(ValueError, match="`threshold` must be balanced_accuracy"):
            read_threshold(wrong)


def test_weights_count_in_a_threshold():
    y, p = np.array([0, 1, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4])
    rule = read_threshold("cost=1:1")
    assert choose_threshold(p, y, rule, np.array([1.0, 9.0, 1.0, 1.0])) == pytest.approx(0.15)
    assert choose_threshold(p, y, rule, np.array([1.0, 1.0, 9.0, 1.0])) == pytest.approx(0.35)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_threshold_is_chosen_on_series_that_its_networks_did_not_see(problem, grouped, monkeypatch):
    data, labels, _ = problem
    groups = np.arange(45) // 3
    fitted, asked = [], []
    fit, predict = lt.CfCClassifier.fit, lt.CfCClassifier.predict_proba
    monkeypatch.setattr(
        lt.CfCClassifier, "fit", lambda model, X, *a, **k: fitted.append(set(X.ids)) or fit(model, X, *a, **k)
    )
    monkeypatch.setattr(
        lt.CfCClassifier, "predict_proba", lambda model, X: asked.append(set(X.ids)) or predict(model, X)
    )
    more = {"groups": groups} if grouped else {}
    lt.CfCClassifier(threshold="f1", **ONE_EPOCH).fit(data, labels, **more)
    whole, *parts = fitted
    assert whole == set(data.ids) == set().union(*asked)
    assert len(parts) == len(asked) == 3
    for learned, held in zip(parts, asked, strict=True):
        assert not learned & held
        if grouped:
            assert not set(groups[np.isin(data.ids, list(learned))]) & set(groups[np.isin(data.ids, list(held))])


def test_thresholds_are_stored_and_used(problem, tmp_path):
    data, labels, _ = problem
    model = lt.CfCClassifier(threshold="sensitivity=0.9", **ONE_EPOCH).fit(data, labels)
    with small_parts():
        stacked = lt.StackedClassifier(n_networks=1, n_splits=3, threshold="f1", random_state=0).fit(data, labels)
    for place, one in enumerate((model, stacked)):
        assert 0 < one.threshold_ < 1
        chances = one.predict_proba(data)[:, 1]
        np.testing.assert_array_equal(one.predict(data), (chances >= one.threshold_).astype(int))
        np.testing.assert_array_equal(one.decide(one.predict_proba(data), 0.99), (chances >= 0.99).astype(int))
        one.save(tmp_path / str(place))
        loaded = lt.load(tmp_path / str(place))
        assert loaded.threshold_ == one.threshold_
        np.testing.assert_array_equal(loaded.predict(data), one.predict(data))
    kept = model.threshold_
    assert model.refit(data, labels).threshold_ == kept
    assert model.threshold == "sensitivity=0.9"
    with pytest.raises(ValueError, match="is for two classes; there are 3"):
        lt.CfCClassifier(threshold=0.5, **ONE_EPOCH).fit(data, np.arange(45) % 3)
    assert lt.CfCClassifier(**ONE_EPOCH).fit(data, labels).threshold_ is None


def test_intervals_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    errors = rng.gumbel(size=(4000, 2)) * [1.0, 3.0]
    residuals = Residuals.of(errors[:1500])
    for coverage in (0.5, 0.8, 0.95):
        low, high = residuals.around(np.zeros((2500, 2)), coverage)
        inside = ((low <= errors[1500:]) & (errors[1500:] <= high)).mean(axis=0)
        np.testing.assert_allclose(inside, coverage, atol=0.03)
    again = Residuals.restored(residuals.stored(), 2)
    np.testing.assert_array_equal(again.ends(0.8), residuals.ends(0.8))
    few = Residuals.of(np.arange(5.0)[:, None])
    assert few.ends(0.99)[0] == 0.0  # no wider than what was seen
    assert few.ends(0.99)[1] == 4.0
    for wrong in (0, 1, 1.5, "a", None):
        with pytest.raises(ValueError, match="`coverage` must be between 0 and 1"):
            residuals.ends(wrong)
    for stored in (
        {},
        {"count": 3, "sorted": [[1.0, 0.0]]},
        {"count": 1, "sorted": [[0.0, 1.0]]},
        {"count": 2, "sorted": 3},
    ):
        with pytest.raises(ValueError, match="`residuals` must"):
            Residuals.restored(stored, 1)


def test_regressors_have_intervals(problem, tmp_path):
    data, _, level = problem
    plain = lt.CfCRegressor(**ONE_EPOCH).fit(data, level)
    with pytest.raises(ValueError, match="fit it with intervals=True"):
        plain.predict_interval(data)
    networks = lt.CfCRegressor(intervals=True, **ONE_EPOCH).fit(data, level, groups=np.arange(45) // 3)
    with small_parts():
        result = lt.train_and_test(data, np.stack([level, -level], axis=1), n_networks=1, n_splits=3)
    figure = result.figures["stacked model"]["coverage_90"]
    assert 0.5 < figure.value <= 1.0
    assert result.predictions.columns[-4:] == ["low_0", "low_1", "high_0", "high_1"]
    for place, one in enumerate((networks, result.model)):
        low, high = one.predict_interval(data, 0.8)
        values = one.predict(data)
        assert low.shape == high.shape == values.shape
        assert ((low <= values + 1) & (high >= low)).all()
        one.save(tmp_path / str(place))
        np.testing.assert_array_equal(lt.load(tmp_path / str(place)).predict_interval(data, 0.8)[0], low)


def test_groups_and_weights_are_routed(problem, monkeypatch):
    data, labels, _ = problem
    groups, seen = np.arange(45) // 3, []
    fit = lt.CfCClassifier.fit

    def watched(self, X, y, sample_weight=None, **more):
        seen.append((len(X), len(sample_weight), len(np.unique(more["groups"]))))
        return fit(self, X, y, sample_weight, **more)

    watched.__signature__ = __import__("inspect").signature(fit)
    monkeypatch.setattr(lt.CfCClassifier, "fit", watched)
    with sklearn.config_context(enable_metadata_routing=True):
        model = lt.CfCClassifier(**ONE_EPOCH).set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        params = {"groups": groups, "sample_weight": np.ones(45)}
        found = cross_validate(model, data, labels, cv=GroupKFold(3), params=params, error_score="raise")
    assert len(found["test_score"]) == 3
    assert seen == [(30, 30, 10)] * 3


def test_folds_by_time_hold_out_the_latest():
    order, groups = np.arange(20) % 10, np.arange(20) // 2
    for rows, held in folds(20, 0.25, 2, None, 0, None, order):
        assert order[rows].max() < order[held].min()
        assert len(held) == 6  # those of one time stay together
    for rows, held in folds(20, 0.25, 2, None, 0, groups, order):
        assert not set(groups[rows]) & set(groups[held])
        assert order[rows].max() < order[held].min()
    rows, held = next(folds(20, 0.25, 1, None, 0, None, np.zeros(20)))
    assert (len(rows), len(held)) == (20, 0)
