import numpy as np
import pytest

from liquidtime.data import History, SeriesEncoder
from oracles.series import random_set

LENGTHS = [40, 0, 1, 30, 25, 2]


def statistics(z):
    """The statistics of observed values, by their definition."""
    if len(z) == 0:
        return [0.0] * 6
    return [np.mean(z), min(z), max(z), np.std(z), z[0], np.log1p(len(z))]


def expected(history, encoder, values):
    row = []
    for place, name in enumerate(encoder.channels_):
        seen = values[~np.isnan(values[:, place]), place]
        found = statistics(encoder.scaling_.column(place, seen).astype(np.float64).tolist())
        row += found[-1:] if name in encoder.categories_ else found
    return np.array(row)


@pytest.mark.parametrize("width", [None, 4.0])
def test_rows_are_the_statistics_of_the_samples_so_far(width):
    data = random_set(3, LENGTHS)
    encoder = SeriesEncoder(bin_width=width).fit(data)
    history = History(encoder)
    steps = encoder.steps(data)
    rows, ends = history.at_steps(steps), history.at_ends(steps)
    assert rows.shape == (len(steps.times), len(history.names))
    for place, series in enumerate(steps):
        for k in range(len(series.times)):
            wanted = expected(history, encoder, series.values[: k + 1])
            np.testing.assert_allclose(rows[steps.offsets[place] + k], wanted, atol=2e-6)
        np.testing.assert_allclose(ends[place], expected(history, encoder, series.values), atol=2e-6)


def test_a_constant_channel_has_no_deviation_at_all():
    from liquidtime.data import SeriesSet

    rng = np.random.default_rng(0)
    values = np.stack([np.full((5, 50), 3.7), rng.normal(size=(5, 50))], axis=2)
    data = SeriesSet.from_arrays(values + rng.normal(size=(5, 1, 1)))
    history = History(SeriesEncoder().fit(data))
    rows = history.at_steps(data)
    assert (rows[:, history.names.index("0 deviation")] == 0).all()
    assert (rows[:, history.names.index("1 deviation")] > 0).sum() > 200
