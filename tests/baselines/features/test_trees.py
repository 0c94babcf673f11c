"""Trees by folds: held-out rows are judged by members that did not see them, and unknown numbers are taken."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from liquidtime.baselines.features.temperature import best_temperature, log_scores, tempered
from liquidtime.baselines.features.trees import KINDS, TEMPERATURES, Trees


def table(seed=0, n=120, p=6):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    signal = X[:, 0] - X[:, 1]
    X[random.random(X.shape) < 0.1] = np.nan
    return X, signal


@pytest.mark.parametrize("kind", KINDS)
def test_classes_are_learned_and_noise_is_not(kind):
    X, signal = table()
    y = np.where(signal > 0, "up", "down")
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    model = Trees(kind).fit(X, y, folds)
    codes = np.searchsorted(model.classes_, y)
    held_out = (model.out_of_fold_.argmax(axis=1) == codes).mean()
    assert held_out > 0.75
    assert (model.predict(X) == y).mean() > held_out
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    shuffled = np.random.default_rng(1).permutation(y)
    noise = Trees(kind).fit(X, shuffled, folds)
    chances = noise.out_of_fold_[np.arange(len(y)), np.searchsorted(model.classes_, shuffled)]
    assert -np.log(chances).mean() < 0.85


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_learned_and_held_out_ones_are_by_the_other_members(kind):
    X, signal = table()
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = Trees(kind, "regress").fit(X, signal, folds)
    error = np.mean((model.out_of_fold_ - signal) ** 2)
    assert 0.01 < error < 0.75 * signal.var()
    changed = signal.copy()
    changed[folds[0][1]] += 100.0  # targets of the first fold tell nothing of its own predictions
    again = Trees(kind, "regress").fit(X, changed, folds)
    if kind == "extra trees":  # boosting may choose another number of rounds
        np.testing.assert_allclose(again.out_of_fold_[folds[0][1]], model.out_of_fold_[folds[0][1]])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_trees(kind):
    X, signal = table(p=100)
    folds = list(KFold(2).split(X))
    first, second, other = (Trees(kind, "regress", seed).fit(X, signal, folds).predict(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_that_one_member_never_saw_has_its_column(kind):
    X, signal = table(n=60)
    y = np.where(signal > 0, 1, 0)
    y[:2] = 2
    folds = [(np.arange(2, 60), np.arange(2)), (np.arange(50), np.arange(50, 60))]
    model = Trees(kind).fit(X, y, folds)
    assert model.predict_proba(X).shape == (60, 3)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isnan(model.out_of_fold_[10]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_without_a_number_in_one_fold_is_survived(kind):
    X, signal = table(n=60)
    X[:40, 2] = np.nan
    X[:, 3] = np.nan
    folds = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    assert np.isfinite(Trees(kind, "regress").fit(X, signal, folds).predict(X)).all()


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="kind"):
        Trees("oaks").fit(np.zeros((4, 1)), np.zeros(4), [])


def test_temperature_finds_how_sure_probabilities_may_be():
    random = np.random.default_rng(0)
    truth = np.array([0.7, 0.3])
    y = random.choice(2, size=20_000, p=truth)
    too_sure = np.tile(truth**3 / (truth**3).sum(), (len(y), 1))
    loss, temperature = best_temperature(log_scores(too_sure), y, TEMPERATURES)
    assert temperature == pytest.approx(3, rel=0.1)
    np.testing.assert_allclose(tempered(log_scores(too_sure), temperature)[0], truth, atol=0.02)
    assert loss < -np.log(too_sure[np.arange(len(y)), y]).mean()
    assert np.isfinite(np.log(tempered(log_scores(np.array([[0.0, 1.0]])), 1.0))).all()


def test_rows_that_stand_for_others_give_the_probabilities_of_all():
    X, signal = table(n=600)
    y = (signal > 1.2).astype(int)
    every = np.arange(600)
    folds, counts = [], []
    for train, held in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        common = train[y[train] == 0]
        rows = np.sort(np.concatenate([train[y[train] == 1], common[:100]]))
        folds.append((rows, held))
        counts.append(np.where(y[rows] == 1, 1.0, len(common) / 100))
    model = Trees(careful=True).fit(X.astype(np.float32), y, folds, counts=counts)
    plain = Trees(careful=True).fit(X, y, folds)
    assert model.out_of_fold_[:, 1].mean() == pytest.approx(y.mean(), abs=0.05)
    assert plain.out_of_fold_[:, 1].mean() > model.out_of_fold_[:, 1].mean() + 0.03
    assert np.isfinite(model.predict_proba(X[every])).all()


def test_forests_of_large_tables_have_fewer_trees():
    model = Trees("extra trees")
    model.classes_ = np.arange(2)
    trees = [model._model(n, 1000, 0).n_estimators for n in (100, 4_000, 8_000, 10**6)]
    assert trees == [300, 200, 100, 50]
