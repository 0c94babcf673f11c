"""The last observation of each channel, carried forward within its series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def last_observed(
    observed: npt.NDArray[np.bool_], first: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return, for each sample, the newest sample of its series up to itself in which a channel is observed.

        last_k = max { j <= k : observed_j, j in the same series }

    A running maximum over the flat array continues from one series into the next; a result before the first sample of a
    series belongs to another series and is replaced.

    Args:
        observed: (N,) whether the channel is observed.
        first: (N,) first sample of the series that each sample belongs to.

    Returns:
        (N,) the newest such sample, or `first` if there is none yet, and (N,) whether there is one.
    """
    last = np.maximum.accumulate(np.where(observed, np.arange(len(observed)), -1))
    known: npt.NDArray[Any] = last >= first
    return np.where(known, last, first), known


def since_feature(elapsed: npt.NDArray[np.float64], time_scale: float) -> npt.NDArray[np.float32]:
    """Return log(1 + elapsed / time_scale) in float32; the times were subtracted in float64."""
    return np.log1p((elapsed / time_scale).astype(np.float32))
