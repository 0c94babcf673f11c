import numpy as np
import pytest

from estimators.small import series
from liquidtime.estimators.stacking.fitting import networks_held_out
from liquidtime.estimators.stacking.folds import make_folds


def test_classes_are_spread_and_every_series_is_held_out_once():
    codes = np.array([0] * 30 + [1] * 9 + [2] * 6)
    folds = make_folds(45, 3, 0, codes)
    assert np.sort(np.concatenate([held for _, held in folds])).tolist() == list(range(45))
    for train, held in folds:
        assert not set(train) & set(held)
        assert np.bincount(codes[held]).tolist() == [10, 3, 2]


def test_groups_stay_together():
    groups = np.repeat([f"engine {i}" for i in range(7)], 4)
    for train, held in make_folds(28, 5, 0, groups=groups):
        assert not set(groups[train]) & set(groups[held])
    with pytest.raises(ValueError, match="at least two different groups"):
        make_folds(4, 2, 0, groups=["a"] * 4)


def test_later_series_are_held_out_from_earlier_ones():
    year = np.array([3, 1, 2, 5, 4, 1, 2, 3, 5])
    folds = make_folds(9, 4, 0, order=year)
    assert len(folds) == 4
    for train, held in folds:
        assert year[train].max() < year[held].min()
    assert not set(np.flatnonzero(year == 1)) & set(np.concatenate([held for _, held in folds]))


def test_later_series_of_other_groups_alone_are_learned_from():
    year, groups = np.array([1, 1, 2, 2, 3, 3, 3, 2]), np.array(list("abcadbec"))
    folds = make_folds(8, 2, 0, groups=groups, order=year)
    assert folds
    for train, held in folds:
        assert year[train].max() < year[held].min()
        assert not set(groups[train]) & set(groups[held])


def test_groups_that_recur_in_every_year_are_held_out_by_halves():
    year, groups = np.repeat([1, 2, 3], 6), np.tile(np.arange(6), 3)
    folds = make_folds(18, 2, 0, groups=groups, order=year)
    assert len(folds) == 2
    for train, held in folds:
        assert year[train].max() < year[held].min()
        assert len(set(groups[train])) == len(set(groups[held])) == 3
        assert not set(groups[train]) & set(groups[held])
    assert set(groups[folds[0][1]]) != set(groups[folds[1][1]])


def test_a_fold_without_two_classes_to_learn_from_is_left_out():
    assert make_folds(10, 5, 0, np.array([0] * 9 + [1])) != []
    for train, _ in make_folds(10, 5, 0, np.array([0] * 9 + [1])):
        assert train[-1] == 9
    assert make_folds(2, 5, 0, np.array([0, 1])) == []


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"groups": [1, 2, 3]}, r"\(2,\); got shape \(3,\)"),
        ({"order": [1.0, np.nan]}, "1 are NaN"),
    ],
)
def test_what_does_not_fit_is_refused(more, text):
    with pytest.raises(ValueError, match=text):
        make_folds(2, 2, 0, **more)


def test_networks_of_a_stack_predict_series_they_did_not_see():
    """With the targets and the further arguments of the series that they were fitted to."""
    data, labels, _ = series(12, empty=False)
    beside = np.arange(12.0)
    cuts = [(np.setdiff1d(np.arange(12), held), held) for held in np.split(np.arange(12), 3)]
    place = {id: row for row, id in enumerate(data.ids)}

    class Network:
        def fit(self, X, y, sample_weight):
            self.rows = [place[id] for id in X.ids]
            np.testing.assert_array_equal(y, labels[self.rows])
            np.testing.assert_array_equal(sample_weight, beside[self.rows])

        def predict_proba(self, X):
            asked = [place[id] for id in X.ids]
            assert not set(asked) & set(self.rows)
            return np.array(asked)[:, None] + np.zeros((len(asked), 3))

    class Targets:
        K = 3

        def labels(self, rows):
            return labels[rows]

        def outputs(self, network, X):
            return network.predict_proba(X)

    given = {"sample_weight": beside}
    found = networks_held_out(lambda number: Network(), data, Targets(), cuts, {}, given, n_jobs=1)
    np.testing.assert_array_equal(found, np.arange(12)[:, None] + np.zeros((12, 3)))
