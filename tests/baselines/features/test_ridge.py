"""Ridge regression: its closed-form held-out predictions equal refits, wide and tall, and its probabilities serve."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Reference
from sklearn.model_selection import GroupKFold, KFold

from liquidtime.baselines.features.ridge import Ridge


@pytest.mark.parametrize("p", [5, 30, 200])
def test_held_out_predictions_are_those_of_refits(p):
    random = np.random.default_rng(p)
    X = random.normal(size=(60, p))
    y = X[:, 0] + 0.5 * random.normal(size=60)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = Ridge("regress").fit(X, y, folds)
    for train, held_out in folds:
        expected = Reference(alpha=model.penalty_).fit(X[train], y[train]).predict(X[held_out])
        np.testing.assert_allclose(model.out_of_fold_[held_out], expected, rtol=1e-3, atol=1e-3)
    expected = Reference(alpha=model.penalty_).fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-3, atol=1e-3)


def test_classes_of_groups_are_held_out_together():
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 3)
    marks = random.normal(size=(20, 40))  # each group has marks of its own that tell nothing of other groups
    X = marks[groups] + 0.01 * random.normal(size=(60, 40))
    y = random.integers(2, size=20)[groups]
    mixed = Ridge().fit(X, y, list(KFold(5, shuffle=True, random_state=0).split(X)))
    apart = Ridge().fit(X, y, list(GroupKFold(5).split(X, groups=groups)))
    assert (mixed.out_of_fold_.argmax(axis=1) == y).mean() > 0.9
    assert (apart.out_of_fold_.argmax(axis=1) == y).mean() < 0.8


def test_probabilities_of_noise_are_no_worse_than_even_and_those_of_signal_are_sure():
    random = np.random.default_rng(1)
    y = np.array(["no", "yes"])[random.integers(2, size=200)]
    folds = list(KFold(5, shuffle=True, random_state=0).split(y))
    noise = Ridge().fit(random.normal(size=(200, 50)), y, folds)
    truth = (y == "yes").astype(int)
    assert -np.log(noise.out_of_fold_[np.arange(200), truth]).mean() < np.log(2) + 0.02
    X = random.normal(size=(200, 50)) + 2.0 * truth[:, None]
    signal = Ridge().fit(X, y, folds)
    assert -np.log(signal.predict_proba(X)[np.arange(200), truth]).mean() < 0.05
    assert (signal.predict(X) == y).mean() > 0.99
    np.testing.assert_allclose(signal.predict_proba(X).sum(axis=1), 1.0)


def test_constant_features_and_rows_in_no_fold_are_survived():
    X = np.concatenate([np.ones((30, 3)), np.arange(30.0)[:, None]], axis=1)
    y = np.arange(30.0)
    model = Ridge("regress").fit(X, y, [(np.arange(20), np.arange(20, 30))])
    assert np.isnan(model.out_of_fold_[:20]).all()
    np.testing.assert_allclose(model.predict(X), y, atol=0.5)
