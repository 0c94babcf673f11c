"""The step of one sample against the encoding of whole series: every prefix of every stream."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime.data import History, SeriesEncoder
from oracles.series import random_set
from oracles.streams import as_set, streams

CHANNELS = ("a", "b", "c0", "k")


def fitted(width, blocks=("values", "mask", "since")):
    data = random_set(0, [30, 1, 25])
    data.values[:, 2] = np.nan  # never observed in training
    return SeriesEncoder(bin_width=width, blocks=blocks).fit(data)


ENCODERS = [fitted(width) for width in (None, 0.5, 6.0, 1000.0)]
ENCODERS += [fitted(2.0, ("values",)), fitted(None, ("mask", "since"))]


def at_end(encoder, data):
    """Input, interval and statistics after the last step of the one series of a set."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # categories that training did not have
        steps = encoder.steps(data)
    encoded = encoder.encode(steps)
    return encoded.x[-1], encoded.dt[-1], History(encoder).at_ends(steps)[0]


@settings(max_examples=150)
@given(streams(), st.sampled_from(ENCODERS))
def test_after_each_sample_the_open_step_is_the_last_of_the_whole(samples, encoder):
    step, stream = encoder.sample_step, encoder.stream()
    state = step.start(1)
    for k, (t, values) in enumerate(samples):
        x, dt = stream.update(t, values)
        row = [values.get(name) for name in CHANNELS]
        position = {None: np.nan, "low": 0, "mid": 1, "top": 2, "strange": -1}
        row = np.array([np.nan if v is None else v for v in [*row[:3], position[row[3]]]], dtype=np.float32)
        state = step.advance(state, np.array([t]), row[None])
        mine = step.read(state)
        wanted = at_end(encoder, as_set(samples[: k + 1], CHANNELS, {}))
        for got, want in zip((mine.x[0], mine.dt[0], mine.history[0]), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)
        np.testing.assert_array_equal(x, mine.x[0])
        assert dt == mine.dt[0]


@pytest.mark.parametrize("width", [None, 4.0])
def test_series_side_by_side_have_the_numbers_they_have_alone(width):
    encoder = fitted(width)
    data = random_set(3, [20, 20, 20, 20])
    step = encoder.sample_step
    together = step.start(4)
    alone = [step.start(1) for _ in range(4)]
    for k in range(20):
        rows = data.offsets[:-1] + k
        together = step.advance(together, data.times[rows], data.values[rows])
        alone = [step.advance(state, data.times[[r]], data.values[[r]]) for state, r in zip(alone, rows, strict=True)]
        for name, block in step.read(together)._asdict().items():
            for i, state in enumerate(alone):
                np.testing.assert_array_equal(block[i], getattr(step.read(state), name)[0], err_msg=name)
    head = together.head(2)
    assert head.time.shape == (2,)
    np.testing.assert_array_equal(step.read(head).x, step.read(together).x[:2])


def test_advance_leaves_the_state_it_was_given():
    encoder = fitted(2.0)
    step = encoder.sample_step
    state = step.advance(step.start(1), np.array([0.0]), np.array([[1.0, 2.0, np.nan, 1.0]], dtype=np.float32))
    copy = [np.array(part) for part in (*state[:-1], *state.moments)]
    step.read(step.advance(state, np.array([0.5]), np.array([[3.0, np.nan, 5.0, 0.0]], dtype=np.float32)))
    for before, after in zip(copy, (*state[:-1], *state.moments), strict=True):
        np.testing.assert_array_equal(before, after)
