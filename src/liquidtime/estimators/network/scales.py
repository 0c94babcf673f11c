"""The time scales at which the members of an ensemble read the series."""

from __future__ import annotations

import numpy as np

from liquidtime._checks import check_choice
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.bins import bin_counts

SCALES = "scales"
"""The `bin_width` with which members have different time scales."""
COARSER, LEAST_BINS = 4, 5
"""Ratio between neighbouring scales, and the number of bins that a series of median span must fill."""
MOST_STEPS = 2048
"""Mean number of steps per series above which the finest scale uses bins too, to bound the training time."""


def check_width(bin_width: object) -> None:
    """Refuse a text that is not `SCALES`; the encoder refuses what is no width."""
    if isinstance(bin_width, str):
        check_choice("bin_width", bin_width, (SCALES,))


def encoders_of(data: SeriesSet, bin_width: float | str | None, members: int) -> list[SeriesEncoder]:
    """Return the fitted encoders E_0, E_1, …: member m of an ensemble reads by the one at m modulo their number.

    With `SCALES` the first takes every sample as it is and the k-th gathers them in bins of 4^k median intervals, as
    long as a series of median span fills at least 5 bins; there are no more of them than members. Of series of more
    than 2,048 samples, on average, the first gathers them too, in the narrowest bins of 2, 4, 8, … median intervals
    that leave no more steps than that, and the others in bins 4 times as wide each. A mean over a bin
    has less noise and less detail than its samples, so that members of different scales err on different series.

    Args:
        data: the training series.
        bin_width: of the estimator.
        members: networks of the ensemble.
    """
    if bin_width != SCALES:
        assert not isinstance(bin_width, str)
        return [SeriesEncoder(bin_width=bin_width).fit(data)]
    encoders = [_finest(data)]
    if members == 1:
        return encoders
    several = data.lengths >= 2
    if not several.any():
        return encoders
    first, last = data.ends()
    span = float(np.median((last - first)[several]))
    width = COARSER * (encoders[0].bin_width or encoders[0].time_scale_)
    while len(encoders) < members and span >= LEAST_BINS * width:
        encoders.append(SeriesEncoder(bin_width=width).fit(data))
        width *= COARSER
    return encoders


def _finest(data: SeriesSet) -> SeriesEncoder:
    """Return the fitted encoder of the finest scale."""
    encoder = SeriesEncoder().fit(data)
    most = MOST_STEPS * len(data)
    if int(data.offsets[-1]) <= most:
        return encoder
    width = 2 * encoder.time_scale_
    while int(bin_counts(data, width).sum()) > most:
        width *= 2
    return SeriesEncoder(bin_width=width).fit(data)
