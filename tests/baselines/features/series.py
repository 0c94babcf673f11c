"""Small series sets for the tests of features."""

import numpy as np

from liquidtime.data import SeriesSet


def ragged(seed=0, S=12, C=3, least=0, most=40, missing=0.4, statics=2):
    """Return S series of unequal lengths at irregular times; some are empty, some values are missing."""
    random = np.random.default_rng(seed)
    lengths = random.integers(least, most + 1, size=S)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    times = np.concatenate([np.cumsum(random.exponential(size=n) + 0.01) for n in lengths] or [np.empty(0)])
    values = random.normal(size=(len(times), C)).astype(np.float32)
    values[random.random(values.shape) < missing] = np.nan
    return SeriesSet(
        offsets,
        times,
        values,
        tuple("abcdefghijklmnopqrstuvwxyz"[:C]),
        static=random.normal(size=(S, statics)).astype(np.float32),
        static_names=tuple(f"s{k}" for k in range(statics)),
    )


def sampled(function, S=6, n=200, seed=0, span=50.0, regular=False):
    """Return S series of one channel: `function(series, times)` at random or regular times."""
    random = np.random.default_rng(seed)
    series = []
    for number in range(S):
        times = np.linspace(0.0, span, n) if regular else np.sort(random.uniform(0.0, span, n))
        series.append((times, function(number, times)[:, None].astype(np.float32)))
    offsets = np.concatenate([[0], np.cumsum([len(times) for times, _ in series])])
    times, values = (np.concatenate(parts) for parts in zip(*series, strict=True))
    return SeriesSet(offsets, times, values, ("x",))
