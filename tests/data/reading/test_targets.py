import numpy as np
import pandas as pd
import polars as pl
import pytest

from liquidtime.data import SeriesSet, align_labels, align_outcomes, check_target
from oracles.series import assert_same

DATA = SeriesSet.from_arrays(np.arange(6.0).reshape(3, 2), ids=[30, 10, 20], static=[[1], [2], [3]])


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("kind", [int, str])
def test_labels_find_their_series_by_id(make, kind):
    table = make({"who": [kind(i) for i in (10, 20, 30, 40)], "died": [1, 0, 1, 0]})
    data, y = align_labels(DATA, table, id="who", target="died")
    assert_same(data, DATA)
    assert y.tolist() == [1, 1, 0]
    assert y.dtype == np.int64
    assert [str(note) for note in data.notes] == ["dropped: 1 of 4 labels without a series (id 40)"]
    with pytest.raises(ValueError, match=r"`strict` forbids: dropped: 1 of 4 labels without a series"):
        align_labels(DATA, table, id="who", target="died", strict=True)


def test_series_without_a_label_are_dropped_and_labels_without_series_may_stay():
    table = pl.DataFrame({"who": [10, 40, 20], "outcome": ["well", "ill", None]})
    data, y = align_labels(DATA, table, id="who", target="outcome", keep_empty=True)
    assert data.ids.tolist() == [10, 40]
    assert data.lengths.tolist() == [2, 0]
    np.testing.assert_array_equal(data.static, np.array([[2], [np.nan]], np.float32))
    assert y.tolist() == ["well", "ill"]
    assert [str(note) for note in data.notes] == [
        "dropped: 2 of 3 series without a label (series 30, series 20)",
        "note: 1 of 2 labels have no sample; their series are empty (id 40)",
    ]


def test_whole_labels_with_gaps_stay_whole():
    table = pd.DataFrame({"who": [10, 20, 30], "n": pd.array([5, None, 7], dtype="Int64")})
    data, y = align_labels(DATA, table, id="who", target="n")
    assert data.ids.tolist() == [30, 10]
    assert y.tolist() == [7, 5]
    assert y.dtype == np.int64


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"one row per series; 1 ids have several, the first is 10"):
        align_labels(DATA, pl.DataFrame({"who": [10, 10], "y": [0, 1]}), id="who", target="y")
    with pytest.raises(
        ValueError, match=r"none of 1 does. The ids of the series begin with 30, 10, 20; those of the labels with 7"
    ):
        align_labels(DATA, pl.DataFrame({"who": [7], "y": [0]}), id="who", target="y")
    with pytest.raises(ValueError, match=r"`target` must name a column; .*'diied'; did you mean `died`"):
        align_labels(DATA, pl.DataFrame({"who": [7], "died": [0]}), id="who", target="diied")


def test_time_stamped_sets_take_empty_series_too():
    stamps = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[us]")
    data = SeriesSet.from_arrays([[1.0, 2.0]], stamps, ids=[1])
    kept, _ = align_labels(data, pl.DataFrame({"who": [1, 2], "y": [0, 1]}), id="who", target="y", keep_empty=True)
    assert np.isnat(kept.origins).tolist() == [False, True]


@pytest.mark.parametrize(
    ("y", "task", "error", "text"),
    [
        ([1, 1, 1], "classify", ValueError, "at least two classes; all 3 labels are"),
        ([0, 1], "classify", ValueError, r"`y` must have shape \(S,\) = \(3,\); got \(2,\)"),
        ([0.0, np.nan, 1.0], "regress", ValueError, "1 of 3 are NaN, infinite or None. The first is nan at position 1"),
        (["a", None, "b"], "classify", ValueError, "1 of 3 .* The first is None at position 1"),
        (["a", "c", "b"], "regress", TypeError, "`y` must be numbers"),
        ([[0], [1], [1]], "classify", ValueError, "One label per series"),
        ([0, 1, 1], "sort", ValueError, "`task` must be one of 'classify', 'regress'; got 'sort'"),
    ],
)
def test_targets_are_checked(y, task, error, text):
    with pytest.raises(error, match=text):
        check_target(y, 3, task)


def test_good_targets_pass():
    assert check_target(pd.Series(["a", "b", "a"]), 3).tolist() == ["a", "b", "a"]
    assert check_target([[1, 2], [3, 4]], 2, "regress").dtype == np.float64


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_further_outcomes_find_their_series_by_id(make):
    table = make({"who": ["10", "20", "40"], "days": [3.0, -1.0, 9.0], "score": [7, 8, 9], "word": ["x", "y", "z"]})
    found = align_outcomes(DATA, table, id="who", columns=("score", "days"), missing=(-1,))
    np.testing.assert_array_equal(found, [[np.nan, np.nan], [7, 3], [8, np.nan]])
    with pytest.raises(
        ValueError, match=r"`auxiliary` 'word' must be numbers; got String\. Turn categories into 0 and 1"
    ):
        align_outcomes(DATA, table, id="who", columns=["word"])
    with pytest.raises(ValueError, match="`auxiliary` must name a column; there is none called 'day'; did you mean"):
        align_outcomes(DATA, table, id="who", columns=["day"])
    with pytest.raises(ValueError, match="`table` must have one row per series; 1 ids have several, the first is 10"):
        align_outcomes(DATA, make({"who": [10, 10], "days": [1, 2]}), id="who", columns=["days"])
