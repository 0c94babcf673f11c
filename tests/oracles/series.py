"""Sets of series made at random, and what it means that two are the same."""

from __future__ import annotations

import numpy as np

from liquidtime.data import SeriesSet


def random_set(
    seed: int, lengths: list[int], C: int = 3, *, static: bool = True, categorical: bool = True
) -> SeriesSet:
    """A set with gaps, a heavy tail in channel b, a categorical channel k and two static features."""
    rng = np.random.default_rng(seed)
    N, S = sum(lengths), len(lengths)
    times = np.concatenate([np.cumsum(rng.exponential(2.0, T) + 1e-3) + rng.uniform(0, 5) for T in lengths] or [[]])
    values = rng.normal(size=(N, C))
    values[:, 1] = np.exp(2 * values[:, 1])
    channels = ["a", "b", *(f"c{place}" for place in range(C - 2))]
    categories = {}
    if categorical:
        values = np.column_stack([values, rng.integers(0, 3, N)])
        channels.append("k")
        categories["k"] = ("low", "mid", "top")
    values[rng.random(values.shape) < 0.5] = np.nan
    features = np.column_stack([rng.normal(50, 10, S), rng.integers(0, 2, S)])
    if S > 2:
        features[rng.integers(0, S), 0] = np.nan
    if static:
        categories["ward"] = ("east", "west")
    return SeriesSet(
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        times=times,
        values=values,
        channels=tuple(channels),
        ids=np.array([f"s{place}" for place in range(S)], dtype=np.str_),
        static=features if static else None,
        static_names=("age", "ward") if static else (),
        time_unit="h",
        categories=categories,
    )


def assert_same(one: SeriesSet, other: SeriesSet) -> None:
    """Every array and name of two sets is equal."""
    for name in ("offsets", "times", "values", "static"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
        assert getattr(one, name).dtype == getattr(other, name).dtype, name
    assert one.ids.tolist() == other.ids.tolist()
    assert one.channels == other.channels
    assert one.static_names == other.static_names
    assert one.time_unit == other.time_unit
    assert dict(one.categories) == dict(other.categories)
    assert (one.origins is None) == (other.origins is None)
    if one.origins is not None:
        np.testing.assert_array_equal(one.origins, other.origins)
