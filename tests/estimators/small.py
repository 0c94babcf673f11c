"""Small irregular series whose class and level can be learned in a second."""

import numpy as np

from liquidtime.data import SeriesSet

TINY = {"hidden_size": 8, "backbone_units": 8, "read_out_units": 8, "epochs": 4, "batch_size": 16, "random_state": 0}


def series(S=90, seed=0, empty=True, longest=20):
    """Return a set of S series of three channels, one never observed, with static features, and classes "a", "b", "c".

    A series has 6 to `longest` - 1 samples in 40 hours, but for an empty one and one with a single sample at the start.
    The class is whether the first channel falls, stays or rises; the regression target is its level.
    """
    rng = np.random.default_rng(seed)
    labels = np.array(list("abc"))[np.arange(S) % 3]
    level = rng.normal(size=S)
    offsets, times, values = [0], [], []
    for i in range(S):
        n = (0, 1)[i] if empty and i < 2 else int(rng.integers(6, longest))
        t = np.sort(rng.choice(400, n, replace=False)) / 10.0
        drift = (-0.1, 0.0, 0.1)[i % 3] * t + level[i] + 0.1 * rng.normal(size=n)
        row = np.stack([drift, rng.normal(size=n), np.full(n, np.nan)], axis=1)
        row[:, :2][rng.random((n, 2)) < 0.2] = np.nan
        times.append(t)
        values.append(row)
        offsets.append(offsets[-1] + n)
    data = SeriesSet(
        offsets=np.array(offsets),
        times=np.concatenate(times),
        values=np.concatenate(values),
        channels=("drift", "noise", "never"),
        static=np.stack([rng.normal(size=S), np.arange(S) % 2], axis=1),
        static_names=("age", "sex"),
        categories={"sex": ("f", "m")},
        time_unit="h",
    )
    return data, labels, level
