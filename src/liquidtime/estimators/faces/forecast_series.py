"""Series for forecasters: observations, and what is known about the future."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.alignment import aligned
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.forecast import known_in, observed_until

Values = npt.NDArray[np.float64]


class ForecastSeries(EncodedSeries):
    """S series up to their last samples, with the known channels of their future.

    Args:
        encoders: fitted encoders of one model.
        data: S series; samples at their ends that have values only in known channels are their future.
        known: positions of the channels whose future is known, among those of training.
    """

    def __init__(self, encoders: Sequence[SeriesEncoder], data: SeriesSet, known: Sequence[int] = ()) -> None:
        first = encoders[0]
        if known:
            data = aligned(data, first.channels_, first.static_names_, first.categories_, first.time_unit_)
        super().__init__(encoders, observed_until(data, known))
        self._whole, self._known = data, tuple(known)

    def __getitem__(self, rows: Any) -> ForecastSeries:
        """Return the series at these positions."""
        return ForecastSeries(self.encoders, self._whole[np.asarray(rows, dtype=np.int64)], self._known)

    def known_at(self, times: Values) -> Values:
        """Return (S, Q, K) the newest values of the known channels at times (S, Q), NaN if there are none."""
        return known_in(self._whole, self._known)(times)
