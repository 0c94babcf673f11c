import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from liquidtime.data import SeriesSet
from oracles.series import assert_same


def test_a_block_is_cut_at_the_lengths():
    block = np.arange(24.0).reshape(2, 4, 3)
    times = np.array([[0, 1, 4, 9], [5, 6, 7, np.nan]])
    data = SeriesSet.from_arrays(block, times, lengths=[4, 3], channels=["a", "b", "c"], time_unit="s")
    assert data.lengths.tolist() == [4, 3]
    np.testing.assert_array_equal(data.values, block.reshape(8, 3)[:7].astype(np.float32))
    assert data[1].times.tolist() == [5.0, 6.0, 7.0]
    with pytest.raises(
        ValueError, match=r"`time` must be finite; 1 of 8 are not. The first: nan in series 1 at position 3"
    ):
        SeriesSet.from_arrays(block, times)


def test_two_dimensions_are_one_channel_at_whole_times():
    data = SeriesSet.from_arrays(torch.tensor([[1.0, 2.0], [3.0, float("nan")]]))
    assert data.channels == ("0",)
    assert data.times.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert len(data) == 2
    assert SeriesSet.from_arrays([[1, 2], [3, 4]]).values.shape == (4, 1)
    assert SeriesSet.from_arrays([(1, 2), (3, 4)]).values.shape == (4, 1)


def test_stamps_of_several_resolutions_never_wrap():
    old, new = np.datetime64("1500-01-01"), np.datetime64("2000-01-01T00:00:05", "ns")
    for pairs in ([([old, new], [1.0, 2.0])], [(np.array([old]), [1.0]), (np.array([new]), [2.0])]):
        with pytest.raises(ValueError, match="outside 1678…2262"):
            SeriesSet.from_arrays([(times, np.array(values)) for times, values in pairs])
    late = [np.datetime64("1999-12-31"), new]
    assert SeriesSet.from_arrays([(late, np.zeros(2))], time_unit="s").times.tolist() == [0.0, 86405.0]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 3))
def test_pairs_come_back_as_they_were(lengths, C):
    rng = np.random.default_rng(0)
    pairs = [(np.cumsum(rng.uniform(0.1, 1, T)), rng.normal(size=(T, C)).astype(np.float32)) for T in lengths]
    data = SeriesSet.from_arrays(pairs, static=np.arange(len(pairs))[:, None])
    assert data.lengths.tolist() == lengths
    for series, (times, values) in zip(data, pairs, strict=True):
        np.testing.assert_array_equal(series.times, times)
        np.testing.assert_array_equal(series.values, values)
        assert series.static.tolist() == [series.id]


def test_pairs_are_sorted_and_merged_and_said_so():
    data = SeriesSet.from_arrays([([2, 1, 2], [1.0, 5.0, 3.0]), ([0], [7.0])], ids=["u", "v"])
    assert data[0].times.tolist() == [1.0, 2.0]
    assert data[0].values[:, 0].tolist() == [5.0, 2.0]
    assert [note.count for note in data.notes] == [1, 1]
    assert "0 in series u at position 1" in str(data.notes[1])
    with pytest.raises(ValueError, match=r"`strict` forbids"):
        SeriesSet.from_arrays([([2, 1], [1.0, 5.0])], strict=True)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"values": np.zeros(3)}, ValueError, r"`values` must have shape \(B, T, C\) or \(B, T\)"),
        ({"values": np.zeros((2, 3)), "times": [0, 1]}, ValueError, r"`times` must have shape .*got \(2,\)"),
        ({"values": np.zeros((2, 3)), "lengths": [4, 1]}, ValueError, r"`lengths` must be .* in 0…T = 0…3"),
        ({"values": np.zeros((0, 3))}, ValueError, "at least one series"),
        ({"values": [["a", "b"]]}, TypeError, "`values` must be numbers"),
        ({"values": [[np.inf]]}, ValueError, "must be finite in float32; 1 of 1 .* inf in series 0 at position 0"),
        ({"values": [([0, 1], [1.0])]}, ValueError, r"series 0 has \(2,\) and \(1, 1\)"),
        ({"values": [([0], [1.0]), ([0], [[1.0, 2.0]])]}, ValueError, r"one number of channels; got \[1, 2\]"),
        ({"values": [([0], [1.0])], "times": [0]}, ValueError, "`times` and `lengths` must be None"),
        ({"values": [[1.0]], "channels": ["a", "b"]}, ValueError, "`channels` must have C = 1 names; got 2"),
        ({"values": [[1.0]], "ids": [1, 2]}, ValueError, r"`ids` must have shape \(B,\) = \(1,\)"),
        ({"values": [[1.0]], "static": [1.0]}, ValueError, r"`static` must have shape"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        SeriesSet.from_arrays(**arguments)


def test_channels_before_time_are_not_taken_for_time_in_silence():
    block = np.arange(2 * 3 * 30.0).reshape(2, 3, 30)  # as aeon and sktime have it: 3 channels at 30 times
    with pytest.raises(ValueError, match=r"could be 2 series of 3 times with 30 channels .*3 channels at 30"):
        SeriesSet.from_arrays(block)
    with pytest.raises(ValueError, match="2 series of 1 times with 30 channels"):
        SeriesSet.from_arrays(block[:, :1])
    data = SeriesSet.from_arrays(block, axes="SCT")
    assert data.lengths.tolist() == [30, 30]
    np.testing.assert_array_equal(data[1].values.T, block[1])
    assert SeriesSet.from_arrays(block, axes="STC").lengths.tolist() == [3, 3]
    assert SeriesSet.from_arrays(block, [0, 1, 5]).lengths.tolist() == [3, 3]  # the times tell
    with pytest.raises(ValueError, match="`axes` must be one of 'STC', 'SCT'; got 'CTS'"):
        SeriesSet.from_arrays(block, axes="CTS")


def test_lists_of_arrays_of_unequal_length():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(T, 2)).astype(np.float32) for T in (3, 5, 1)]
    data = SeriesSet.from_arrays(arrays)
    assert data.lengths.tolist() == [3, 5, 1]
    turned = SeriesSet.from_arrays([array.T for array in arrays])  # aeon's list: told by the sizes
    tensors = SeriesSet.from_arrays([torch.from_numpy(array) for array in arrays])
    named = SeriesSet.from_arrays({f"p{place}": array for place, array in enumerate(arrays)})
    assert named.ids.tolist() == ["p0", "p1", "p2"]
    for other in (turned, tensors, named):
        np.testing.assert_array_equal(other.values, data.values)
        np.testing.assert_array_equal(other.offsets, data.offsets)
    flat = SeriesSet.from_arrays([array[:, 0] for array in arrays])
    assert flat.lengths.tolist() == [3, 5, 1]
    with pytest.raises(ValueError, match=r"got arrays of \(3, 2\), \(4, 5\), which have no size in common"):
        SeriesSet.from_arrays([np.zeros((3, 2)), np.zeros((4, 5))])
    with pytest.raises(ValueError, match=r"with `axes` 'SCT' they have \[1, 3, 5\]"):
        SeriesSet.from_arrays(arrays, axes="SCT")


def test_frames_with_series_and_times_in_their_index():
    frame = pd.DataFrame({"who": ["a", "a", "b"], "t": [0.0, 1.5, 0.0], "x": [1.0, 2, 3], "y": [4.0, np.nan, 6]})
    data = SeriesSet.from_wide(frame, id="who", time="t")
    assert_same(SeriesSet.from_wide(frame.set_index(["who", "t"])), data)
    assert_same(SeriesSet.from_wide(frame.set_index(["who", "t"]), id="who", time="t"), data)
    assert_same(SeriesSet.from_wide(frame.set_index(["who", "t"]).rename_axis([None, None])), data)
    assert_same(SeriesSet.from_wide(frame.set_index("t"), id="who", time="t"), data)
    parts = [part.set_index("t")[["x", "y"]] for _, part in frame.groupby("who")]
    assert_same(SeriesSet.from_arrays(parts, ids=["a", "b"]), data)
    nested = pd.DataFrame({name: [part[name] for part in parts] for name in ("x", "y")}, index=["a", "b"])
    assert_same(SeriesSet.from_arrays(nested), data)
    with pytest.raises(ValueError, match="only for a pandas frame with series and times in its index"):
        SeriesSet.from_wide(frame)
    with pytest.raises(TypeError, match=r"for a table use SeriesSet.from_wide or SeriesSet.from_long"):
        SeriesSet.from_arrays(frame)
    with pytest.raises(ValueError, match="several columns called 'x'"):
        SeriesSet.from_wide(frame.rename(columns={"y": "x"}), id="who", time="t")
