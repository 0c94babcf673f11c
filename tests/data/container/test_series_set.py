import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, train_test_split

from liquidtime.data import Note, SeriesSet
from oracles.series import assert_same, random_set

LENGTHS = [3, 0, 1, 7, 2, 5, 0, 4]


def as_list(data):
    return [(s.id, s.times.tolist(), s.values.tobytes(), s.static.tobytes()) for s in data]


@given(st.data())
def test_slices_positions_and_masks_are_those_of_a_list(draw):
    data = random_set(0, LENGTHS)
    plain = as_list(data)
    S = len(plain)
    ends = st.none() | st.integers(-S - 2, S + 2)
    key = draw.draw(st.builds(slice, ends, ends, st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3])))
    assert as_list(data[key]) == plain[key]
    rows = draw.draw(st.lists(st.integers(-S, S - 1), max_size=12))
    assert as_list(data[rows]) == [plain[row] for row in rows]
    assert as_list(data[np.array(rows, dtype=np.int32), ...]) == [plain[row] for row in rows]
    assert as_list(data.take(rows)) == [plain[row] for row in rows]
    mask = draw.draw(st.lists(st.booleans(), min_size=S, max_size=S))
    assert as_list(data[np.array(mask)]) == [item for item, kept in zip(plain, mask, strict=True) if kept]
    position = draw.draw(st.integers(-S, S - 1))
    assert as_list([data[position]]) == [plain[position]]


@given(st.lists(st.integers(0, 4), max_size=5), st.lists(st.integers(0, 4), max_size=5))
def test_cut_in_two_and_concatenated_is_the_whole(left, right):
    data = random_set(1, left + right)
    assert_same(data[: len(left)] + data[len(left) :], data)


def test_concatenation_joins_channels_and_categories():
    one = SeriesSet([0, 1], [0.0], [[1.0, 1.0]], ("a", "k"), ids=[1], categories={"k": ("x", "y")})
    two = SeriesSet([0, 1, 1], [5.0], [[0.0, 3.0]], ("k", "b"), ids=[2, 3], categories={"k": ("y", "z")})
    both = SeriesSet.concatenate([one, two])
    assert both.channels == ("a", "k", "b")
    assert both.categories == {"k": ("x", "y", "z")}
    np.testing.assert_array_equal(both.values, np.array([[1, 1, np.nan], [np.nan, 1, 3]], np.float32))
    with pytest.raises(ValueError, match="distinct ids; 1 occur twice, the first is 1"):
        one + one
    with pytest.raises(ValueError, match="one time unit; got None, h"):
        SeriesSet.concatenate([one, random_set(0, [1])])
    number = SeriesSet([0, 1], [0.0], [[1.0]], ("k",), ids=[9])
    with pytest.raises(ValueError, match="agree on 'k'"):
        SeriesSet.concatenate([one, number])


class MeanOfFirst(ClassifierMixin, BaseEstimator):
    """Says 1 where the mean of channel a is over `threshold`."""

    def __init__(self, threshold=0.0):
        self.threshold = threshold

    def fit(self, X, y):
        assert isinstance(X, SeriesSet)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        assert isinstance(X, SeriesSet)
        return np.array([int(np.nanmean(series.values[:, 0]) > self.threshold) for series in X])


def labelled():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40, 6, 2))
    return SeriesSet.from_arrays(values), (values[:, :, 0].mean(axis=1) > 0.2).astype(int)


def test_scikit_learn_splits_sets():
    data, y = labelled()
    train, test, y_train, y_test = train_test_split(data, y, test_size=0.25, random_state=0, stratify=y)
    assert (len(train), len(test)) == (30, 10)
    assert sorted([*train.ids, *test.ids]) == list(range(40))
    np.testing.assert_array_equal(y[train.ids], y_train)
    np.testing.assert_array_equal(y[test.ids], y_test)
    for split in (KFold(4, shuffle=True, random_state=0).split(data), GroupKFold(4).split(data, y, np.arange(40) // 5)):
        for fit, held in split:
            assert sorted([*data[fit].ids, *data[held].ids]) == list(range(40))


def test_grid_search_and_cross_validation_score_on_sets():
    data, y = labelled()
    search = GridSearchCV(MeanOfFirst(), {"threshold": [-1.0, 0.2, 1.0]}, cv=4).fit(data, y)
    assert search.best_params_ == {"threshold": 0.2}
    assert search.best_score_ == 1.0
    assert cross_val_score(MeanOfFirst(0.2), data, y, cv=3).tolist() == [1.0] * 3


def test_units_convert_and_pickle_keeps_all():
    data = random_set(4, [3, 2])
    minutes = data.in_unit("min")
    np.testing.assert_allclose(minutes.times, data.times * 60, rtol=1e-15)
    np.testing.assert_allclose(minutes.in_unit("D").times, data.times / 24, rtol=1e-15)
    assert_same(pickle.loads(pickle.dumps(data)), data)
    with pytest.raises(ValueError, match=r"`time_unit` must be one of .*'minutes'; did you mean `min`"):
        data.in_unit("minutes")
    with pytest.raises(ValueError, match="have no unit"):
        SeriesSet.from_arrays([[1.0]]).in_unit("s")


def test_a_repr_says_what_is_there():
    data = random_set(0, [3, 0, 2]).with_notes([Note("repaired", "times, sorted", 1, 5)])
    assert repr(data) == (
        "SeriesSet(3 series, 0…3 samples each, 5 samples in h, 4 channels, 2 static, repaired in 1 ways (see .notes))"
    )
    assert repr(data[:0]) == "SeriesSet(0 series, 0 samples in h, 4 channels, 2 static)"


GOOD = {"offsets": [0, 2, 3], "times": [0.0, 1.0, 0.0], "values": np.zeros((3, 1)), "channels": ("a",)}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"offsets": [0, 3, 2]}, "`offsets` must go from 0 to N = 3"),
        ({"values": np.zeros((3, 2))}, r"`values` must have shape \(N, C\) = \(3, 1\); got \(3, 2\)"),
        (
            {"times": [0.0, np.nan, 0.0]},
            "`times` must be finite; 1 of 3 do not. The first is nan in series 0 at position 1",
        ),
        ({"times": [1.0, 1.0, 0.0]}, "increase strictly within a series; 1 of 3 .* in series 0 at position 1"),
        ({"ids": [7, 7]}, "`ids` must be distinct"),
        ({"values": [[0], [np.inf], [0]]}, "`values` must be finite"),
        ({"values": np.zeros((3, 2)), "channels": ("a", "a")}, "'a' occurs twice"),
        ({"categories": {"b": ("x",)}}, "'b' is neither"),
        ({"categories": {"a": ("x",)}, "values": [[0], [1], [0]]}, r"whole numbers in 0…0"),
        ({"time_unit": "hours"}, "`time_unit` must be one of"),
    ],
)
def test_what_is_no_set_is_refused(changed, text):
    SeriesSet(**GOOD)
    with pytest.raises(ValueError, match=text):
        SeriesSet(**GOOD | changed)


def test_wrong_keys_are_refused():
    data = random_set(0, [1, 2])
    for key in (2, -3, [0, 2]):
        with pytest.raises(IndexError, match="set of 2 series"):
            data[key]
    with pytest.raises(ValueError, match="one truth value per series"):
        data[np.array([True])]
    with pytest.raises(TypeError, match="whole numbers"):
        data[np.array([0.5])]
    with pytest.raises(TypeError, match="ragged"):
        np.asarray(data)


def test_the_head_has_the_first_samples_of_each_series():
    data = random_set(0, [3, 0, 5])
    assert_same(data.head(9), data)
    for counts in (2, [2, 0, 4], np.array([1, 5, 0])):
        head = data.head(counts)
        for one, whole, size in zip(head, data, np.broadcast_to(counts, 3), strict=True):
            np.testing.assert_array_equal(one.times, whole.times[:size])
            np.testing.assert_array_equal(one.values, whole.values[:size])
    for wrong in (-1, 1.5, [1, 2]):
        with pytest.raises(ValueError, match="`counts` must be a whole number"):
            data.head(wrong)
