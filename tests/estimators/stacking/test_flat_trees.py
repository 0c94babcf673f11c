import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from liquidtime.baselines.features import Trees
from liquidtime.estimators.stacking.flat_trees import FlatTrees, boosted, grown
from liquidtime.estimators.stacking.folds import make_folds
from liquidtime.estimators.stacking.tree_part import TreePart


def table(n=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 5] = np.where(rng.random(n) < 0.5, 1.0, np.nan)  # split by what is missing alone: an infinite threshold
    y = np.nan_to_num(X[:, 0]) + 2.0 * np.isnan(X[:, 5]) + 0.1 * rng.normal(size=n)
    return X, y, (y > np.quantile(y, 0.3)).astype(int) + (y > np.quantile(y, 0.6))


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_boosting_is_what_scikit_learn_predicts(classes):
    X, y, codes = table()
    new = table(seed=1)[0]
    goal = y if classes == 0 else np.minimum(codes, classes - 1)
    model = HistGradientBoostingClassifier(max_iter=15) if classes else HistGradientBoostingRegressor(max_iter=15)
    model.fit(X, goal)
    trees = boosted(model, 15)
    raw = trees.values[trees.leaves(new), 0].reshape(len(new), 15, -1).sum(axis=1) + model._baseline_prediction
    np.testing.assert_allclose(raw, model._raw_predict(new), rtol=1e-12, atol=1e-12)
    assert np.isnan(new).any()
    assert FlatTrees.from_arrays(trees.to_arrays(), 6).leaves(new).tolist() == trees.leaves(new).tolist()


@pytest.mark.parametrize("forest", [ExtraTreesClassifier, ExtraTreesRegressor])
def test_forests_are_what_scikit_learn_predicts(forest):
    X, y, codes = table()
    X, new = np.nan_to_num(X), np.nan_to_num(table(seed=1)[0])
    model = forest(20, random_state=0).fit(X, codes if forest is ExtraTreesClassifier else y)
    trees = grown(model.estimators_)
    mean = trees.values[trees.leaves(new.astype(np.float32))].mean(axis=1, dtype=np.float64)
    wanted = model.predict_proba(new) if forest is ExtraTreesClassifier else model.predict(new)[:, None]
    np.testing.assert_allclose(mean, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_a_part_is_the_mean_of_its_folds_also_where_one_does_not_know_a_class(task):
    X, y, codes = table(120)
    codes[0] = 3  # in one fold it is held out, and its trees do not know it
    goal = codes if task == "classify" else y
    folds = make_folds(len(X), 3, 0, codes if task == "classify" else None)
    fitted = Trees("boosting", task, 0).fit(X, goal, folds)
    part = TreePart.of(fitted)
    wanted = fitted.predict_proba(X) if task == "classify" else fitted.predict(X)[:, None]
    np.testing.assert_allclose(part.predict(X), wanted, rtol=1e-9, atol=1e-12)
    assert task == "regress" or {len(member.classes) for member in part.members} == {3, 4}


SPOILED = {
    "a cycle": lambda a: a["left"].__setitem__(1, 0),
    "past the end": lambda a: a["right"].__setitem__(0, 10**6),
    "before the start": lambda a: a["roots"].__setitem__(0, -1),
    "a column that is not there": lambda a: a["feature"].__setitem__(0, 99),
    "a negative column": lambda a: a["feature"].__setitem__(0, -1),
    "a leaf without a value": lambda a: a["leaf"].__setitem__(slice(None), 10**6),
    "not a number": lambda a: a["values"].__setitem__((0, 0), np.nan),
    "an infinite threshold": lambda a: a["threshold"].__setitem__(0, np.inf),
    "two parents": lambda a: a["left"].__setitem__(0, a["right"][0]),
    "many roots of one tree": lambda a: a.update(roots=np.zeros(10**5, dtype=np.int32)),
    "no root": lambda a: a.update(roots=np.zeros(0, dtype=np.int32)),
    "another type": lambda a: a.update(left=a["left"].astype(np.float64)),
    "another size": lambda a: a.update(leaf=a["leaf"][:-1]),
    "one too few": lambda a: a.pop("missing_left"),
    "one too many": lambda a: a.update(code=a["leaf"]),
}


@pytest.mark.parametrize("how", SPOILED)
def test_arrays_that_are_no_trees_are_refused(how):
    X, y, _ = table()
    arrays = boosted(HistGradientBoostingRegressor(max_iter=3).fit(X, y), 3).to_arrays()
    spoiled = {name: array.copy() for name, array in arrays.items()}
    SPOILED[how](spoiled)
    with pytest.raises(ValueError, match="trees"):
        FlatTrees.from_arrays(spoiled, 6)


def test_a_walk_beyond_reason_is_refused():
    N = 20_001  # a chain: every second node is a leaf
    order = np.arange(N, dtype=np.int32)
    chain = (order % 2 == 0) & (order < N - 1)
    with pytest.raises(ValueError, match="nodes in a walk"):
        FlatTrees.from_arrays(
            {
                "roots": np.zeros(1, dtype=np.int32),
                "left": np.where(chain, order + 1, order).astype(np.int32),
                "right": np.where(chain, order + 2, order).astype(np.int32),
                "feature": np.zeros(N, dtype=np.int32),
                "threshold": np.zeros(N),
                "missing_left": np.zeros(N, dtype=bool),
                "leaf": np.zeros(N, dtype=np.int32),
                "values": np.zeros((1, 1)),
            },
            1,
        )
