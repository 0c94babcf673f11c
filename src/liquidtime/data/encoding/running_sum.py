"""Running sums that start again with each series, so that their rounding does not depend on other series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def running_sum(values: npt.NDArray[Any], starts: npt.NDArray[np.integer[Any]]) -> Array:
    """Return the sum of each value and those before it in its run.

        sum_k = sum_{k-1} + value_k,   sum_k = value_k where a run starts

    Terms are added one after the other, as in a stream. The difference of two sums over all runs would be rounded
    differently in every set. Runs of similar lengths are summed side by side.

    Args:
        values: (..., n) numbers.
        starts: (R,) position of the first value of each run, increasing from 0; no run is empty.

    Returns:
        (..., n) in float64.
    """
    n = values.shape[-1]
    sums: Array = values.astype(np.float64)
    lengths = np.diff(starts, append=n)
    kinds = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    for kind in np.unique(kinds[lengths > 1]):
        runs = np.flatnonzero(kinds == kind)
        begin, length = starts[runs], lengths[runs]
        if len(runs) == 1:
            part = slice(int(begin[0]), int(begin[0] + length[0]))
            sums[..., part] = np.cumsum(sums[..., part], axis=-1)
            continue
        step = np.arange(int(length.max()))[:, None]
        places = np.minimum(begin + step, n - 1)  # (longest, R'); positions past the end of a run are not used
        inside = step < length
        block = np.where(inside, sums[..., places], 0.0)
        sums[..., places[inside]] = np.cumsum(block, axis=-2)[..., inside]
    return sums
