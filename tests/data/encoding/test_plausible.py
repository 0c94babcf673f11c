"""Single values far beyond all others are read as not observed; whatever lasts or is common is not."""

import numpy as np
import pytest

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.plausible import Plausible


def one_channel(rows):
    series = [(np.arange(float(len(row))), np.asarray(row)[:, None]) for row in rows]
    return SeriesSet.from_arrays(series, channels=["a"])


def drawn(S=40, T=50, seed=0):
    return np.random.default_rng(seed).normal(size=(S, T))


@pytest.mark.parametrize("far", [1e6, -1e6, 1e30])
@pytest.mark.parametrize("places", [[(0, 7)], [(0, 7), (3, 0), (9, 49), (20, 20)]])
def test_single_values_are_told(far, places):
    values = drawn()
    for place in places:
        values[place] = far
    plausible = Plausible.of(one_channel(values))
    assert plausible.count == len(places)
    clean = plausible.clean(one_channel(values)).values.reshape(40, 50)
    assert {tuple(place) for place in np.argwhere(np.isnan(clean)).tolist()} == set(places)


def bursts(values):
    values[3, 10:30] = 1e6  # lasts
    return values


def large_series(values):
    values[3] *= 1e6
    return values


def tails(values):
    return np.random.default_rng(1).standard_t(1.2, size=values.shape)


def sizes(values):
    return np.exp(4 * values[:, :1] + 0.1 * values)


def rare_events(values):
    return np.where(values > 2.2, 1.0, 0.0)


def many(values):
    values[np.random.default_rng(2).random(values.shape) < 0.02] = 1e6
    return values


def few(values):
    values = values[:1, :40]
    values[0, 3] = 1e6
    return values


@pytest.mark.parametrize("kind", [bursts, large_series, tails, sizes, rare_events, many, few])
def test_what_lasts_or_is_common_is_left(kind):
    data = one_channel(kind(drawn()))
    plausible = Plausible.of(data)
    assert not plausible.bounds
    assert plausible.clean(data) is data


def test_an_encoder_with_bounds_reads_faults_as_not_observed_alone_and_from_its_dictionary():
    values = drawn()
    values[0, 7] = 1e6
    data = one_channel(values)
    encoder = SeriesEncoder().fit(data)
    assert "plausible" not in encoder.to_dict()["config"]
    encoder.plausible = Plausible.of(data)
    gone = values.copy()
    gone[0, 7] = np.nan
    whole = encoder.transform(data)
    np.testing.assert_array_equal(whole.x, encoder.transform(one_channel(gone)).x)
    again = SeriesEncoder.from_dict(encoder.to_dict())
    np.testing.assert_array_equal(again.transform(data).x, whole.x)
    stream = again.stream()
    for t, value in enumerate(values[0]):
        x, _ = stream.update(float(t), {"a": value})
        np.testing.assert_array_equal(x, whole.x[t])


@pytest.mark.parametrize("stored", [{"b": [0.0, 1.0]}, {"a": [1.0, 0.0]}, {"a": [0.0]}, {"a": [0.0, None]}, [1], "a"])
def test_forged_bounds_are_refused(stored):
    with pytest.raises(ValueError, match="plausible"):
        Plausible.from_dict(stored, ("a",))
