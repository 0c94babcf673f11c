import numpy as np
import pytest

from liquidtime.data import History, SeriesEncoder, open_steps
from oracles.series import random_set

LENGTHS = [40, 0, 1, 30, 25, 2]


@pytest.mark.parametrize("width", [0.5, 4.0, 1000.0])
def test_every_sample_is_the_last_step_of_its_prefix(width):
    data = random_set(3, LENGTHS)
    encoder = SeriesEncoder(bin_width=width).fit(data)
    found, history = open_steps(encoder, data), History(encoder)
    np.testing.assert_array_equal(found.static, encoder.transform(data).static)
    row = 0
    for place, series in enumerate(data):
        for k in range(len(series.times)):
            prefix = data[place : place + 1].head(k + 1)
            wanted = encoder.transform(prefix)
            np.testing.assert_allclose(found.x[row], wanted.x[-1], atol=1e-6)
            assert found.dt[row] == wanted.dt[-1]
            np.testing.assert_allclose(found.history[row], history.at_ends(encoder.steps(prefix))[0], atol=2e-6)
            assert found.place[row] == len(wanted.times) - 1
            row += 1
    assert row == len(found.x)


def test_one_sample_of_each_bin_is_its_last():
    data = random_set(5, LENGTHS)
    encoder = SeriesEncoder(bin_width=4.0).fit(data)
    found, binned = open_steps(encoder, data), encoder.transform(data)
    assert found.last.sum() == len(binned.times) < len(data.times)
    np.testing.assert_allclose(found.x[found.last], binned.x, atol=1e-6)
    np.testing.assert_array_equal(found.dt[found.last], binned.dt)


def test_a_set_without_samples_has_no_steps():
    data = random_set(3, LENGTHS)
    encoder = SeriesEncoder(bin_width=4.0).fit(data)
    found = open_steps(encoder, data[1:2])
    assert found.x.shape == (0, encoder.input_size_)
    assert found.history.shape == (0, len(History(encoder).names))
