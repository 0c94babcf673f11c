import numpy as np
import pytest
from sklearn.base import clone

import liquidtime as lt
from estimators.small import series
from estimators.stacking.quick import classifier, regressor, small_parts
from liquidtime.data import SeriesSet
from liquidtime.estimators.stacking import fitting
from liquidtime.estimators.stacking.goal import Classes

LABELS = series(45, longest=60)[1]


@pytest.fixture(scope="module")
def fitted():
    data, labels, level = series(45, longest=60)
    return data, classifier(data, labels), regressor(data, np.stack([level, -10 * level], axis=1))


def test_the_answer_is_the_weighted_mean_of_the_parts(fitted):
    data, model, numbers = fitted
    for one in (model, numbers):
        weights = {part.name: part.weight for part in one.parts_}
        assert sum(weights.values()) == pytest.approx(1.0)
        assert all(weight == 0 or weight >= 0.01 for weight in weights.values())
        said = one.predict_parts(data)
        assert set(said) == {name for name, weight in weights.items() if weight > 0} | {"CfC networks"}
        mean = sum(weights[name] * table for name, table in said.items())
        if one is numbers:
            np.testing.assert_allclose(one.predict(data), mean, rtol=1e-12)
        else:
            sharper = mean ** (1 / one.calibration_.temperature)
            shares = np.unique(LABELS, return_counts=True)[1] / len(LABELS)
            trust = one.calibration_.trust
            wanted = trust * sharper / sharper.sum(axis=1, keepdims=True) + (1 - trust) * shares
            np.testing.assert_allclose(one.predict_proba(data), wanted, rtol=1e-4, atol=1e-5)
            assert set(one.predict(data)) <= set("abc")


def test_out_of_fold_the_answer_is_no_worse_than_its_parts(fitted):
    _, model, numbers = fitted
    for one, loss in ((model, "log_loss"), (numbers, "rmse")):
        losses = [part.figures[loss] for part in one.parts_ if part.figures]
        assert len(losses) >= 2
        slack = 1.02  # weights go by targets in units of their deviations; few series are not trusted fully
        assert one.figures_[loss] <= slack * min(losses) + 1e-9


def test_the_seed_decides_everything():
    data, labels, _ = series(30)
    first, second = classifier(data, labels), classifier(data, labels)
    assert first.parts_ == second.parts_
    np.testing.assert_array_equal(first.predict_proba(data), second.predict_proba(data))
    assert clone(first).get_params() == first.get_params()


def test_parts_are_judged_by_series_they_did_not_see():
    """Labels that nothing tells of: whoever had seen them would look perfect, and is not."""
    data, _, _ = series(60, empty=False)
    noise = np.random.default_rng(0).integers(0, 2, 60)
    model = classifier(data, noise)
    for part in model.parts_:
        assert part.figures.get("accuracy", 0.5) < 0.75, part


def test_groups_are_never_on_both_sides(monkeypatch):
    data, _, level = series(36, empty=False)
    groups = np.repeat(np.arange(9), 4)
    seen = []

    def record(name):
        original = getattr(fitting, name)

        def spy(*arguments, **keywords):
            seen.extend(next(value for value in arguments if isinstance(value, list)))
            return original(*arguments, **keywords)

        return spy

    for name in ("fit_features", "networks_held_out"):
        monkeypatch.setattr(f"liquidtime.estimators.stacking.base.{name}", record(name))
    regressor(data, level, groups=groups)
    assert len(seen) >= 4
    for train, held in seen:
        assert not set(groups[train]) & set(groups[held])


def test_later_series_judge_earlier_ones():
    data, labels, _ = series(40, empty=False)
    model = classifier(data, labels, order=np.arange(40))
    assert sum(part.weight for part in model.parts_) == pytest.approx(1.0)


def test_twenty_series_of_three_classes_one_of_them_a_single_series():
    data, labels, _ = series(20)
    labels[labels == "c"] = "a"
    labels[7] = "c"
    model = classifier(data, labels)
    assert model.predict_proba(data).shape == (20, 3)
    np.testing.assert_allclose(model.predict_proba(data).sum(axis=1), 1.0)


def test_two_series_of_two_classes_leave_the_networks_alone():
    data, labels, _ = series(12, empty=False)
    pair = np.array([0, 1])
    model = classifier(data[pair], labels[pair])
    assert [(part.name, part.weight) for part in model.parts_ if part.weight] == [("CfC networks", 1.0)]


def test_series_without_features_that_differ():
    rows = [(np.arange(4.0), np.full((4, 1), 2.0)) for _ in range(24)]
    y = np.random.default_rng(0).normal(size=24)
    model = regressor(SeriesSet.from_arrays(rows), y)
    assert [part.name for part in model.parts_] == ["CfC networks"]
    assert np.isfinite(model.predict(SeriesSet.from_arrays(rows))).all()


def test_networks_that_do_not_help_in_the_first_fold_are_not_trained_on_others(monkeypatch):
    data, labels, _ = series(45, empty=False)
    predicted = Classes.outputs

    def wrong(self, network, X):
        return 1e-6 + (1 - 3e-6) * np.roll(np.eye(3)[predicted(self, network, X).argmax(axis=1)], 1, axis=1)

    fits = []
    fit = lt.CfCClassifier.fit
    monkeypatch.setattr(lt.CfCClassifier, "fit", lambda self, *a, **k: fits.append(len(a[0])) or fit(self, *a, **k))
    monkeypatch.setattr(Classes, "outputs", wrong)
    model = classifier(data, labels)
    assert fits == [45, 30]  # all series, and the first fold
    alone = next(part for part in model.parts_ if part.name == "CfC networks")
    assert (alone.weight, alone.figures) == (0.0, {})
    assert model.networks_alone(data).shape == (45, 3)


def test_encoded_series_are_of_one_model(fitted):
    data, model, numbers = fitted
    series_ = model.encode(data)
    some, whole = model.predict_proba(series_[[3, 1]]), model.predict_proba(series_)
    np.testing.assert_allclose(some, whole[[3, 1]], rtol=1e-12)
    with pytest.raises(ValueError, match="another model"):
        numbers.predict(series_)


@pytest.mark.parametrize(
    ("settings", "y", "text"),
    [
        ({"n_networks": 0}, None, "`n_networks`"),
        ({"n_splits": 1}, None, "`n_splits`"),
        ({}, ["a"] * 30, "at least two classes"),
        ({}, ["a"] * 3, "one class per series"),
    ],
)
def test_bad_settings_and_targets_are_refused(settings, y, text):
    data, labels, _ = series(30)
    with small_parts(), pytest.raises(ValueError, match=text):
        lt.StackedClassifier(**settings).fit(data, labels if y is None else y)


def test_on_new_series_the_answer_is_never_far_worse_than_the_best_of_its_parts(fitted):
    """Which part is the best is known only afterwards; the weights must not have missed it by much."""
    _, model, numbers = fitted
    new, labels, level = series(60, seed=7, longest=60, empty=False)
    codes, rows = np.searchsorted(model.classes_, labels), np.arange(60)

    def log_loss(chances):
        return float(-np.log(np.maximum(chances[rows, codes], 1e-6)).mean())

    said = {name: log_loss(chances) for name, chances in model.predict_parts(new).items()}
    assert len(said) >= 2
    assert log_loss(model.predict_proba(new)) <= min(said.values()) + 0.05, said
    assert log_loss(model.predict_proba(new)) < np.log(3)  # the guess
    target = np.stack([level, -10 * level], axis=1)
    errors = {name: float(((values - target) ** 2).mean()) for name, values in numbers.predict_parts(new).items()}
    assert float(((numbers.predict(new) - target) ** 2).mean()) <= 1.1 * min(errors.values()), errors
