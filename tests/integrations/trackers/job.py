"""One small job that every tracker is told of."""

import liquidtime as lt
from estimators.small import TINY, series

SMALL = {name: value for name, value in TINY.items() if name != "random_state"} | {"epochs": 2}


def tracked_job(folder, track):
    """Train, test and save with a tracker; return the result."""
    data, labels, _ = series(40, empty=False)
    return lt.train_and_test(data, labels, folder=folder, track=track, seed=7, target_name="trend", **SMALL)
