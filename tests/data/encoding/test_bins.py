import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from liquidtime.data.encoding.bins import bin_of, bin_series
from oracles.encoding import binned
from oracles.series import random_set


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.sampled_from([0.5, 3.0, 100.0]), st.integers(0, 9))
def test_bins_are_those_of_a_dictionary(lengths, width, seed):
    data = random_set(seed, lengths)
    found = bin_series(data, width)
    for series, whole in zip(found, data, strict=True):
        times, values = binned(whole, width, [name in data.categories for name in data.channels])
        np.testing.assert_allclose(series.times, times, rtol=1e-12)
        np.testing.assert_allclose(series.values, values, rtol=1e-6)
        assert series.id == whole.id


def test_edges_belong_to_the_bin_above_also_when_rounded():
    assert bin_of(np.array([0.0, 0.1, 0.3, 0.7, 0.05, -0.05]), 0.1).tolist() == [0, 1, 3, 7, 0, -1]


def test_intervals_are_whole_numbers_of_widths():
    data = bin_series(random_set(2, [50]), 3.0)
    assert (np.diff(data.times) % 3.0).max() == pytest.approx(0.0)
    assert np.diff(data.times).max() > 3.0
