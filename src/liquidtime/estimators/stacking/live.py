"""The samples of live series so far, for parts that read features of whole series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.encoding import read_static


class LiveSamples:
    """The samples of live series by id, with samples at one time as one, as the networks take them."""

    def __init__(self) -> None:
        self._times: dict[Any, list[float]] = {}
        self._values: dict[Any, list[npt.NDArray[np.float32]]] = {}
        self._static: dict[Any, npt.NDArray[np.float32]] = {}

    def add(self, id: Any, cfc: Any, static: Mapping[str, Any] | None) -> SeriesSet:
        """Take the newest sample of a series from the networks, and return the series so far.

        Args:
            id: of the series.
            cfc: the networks' estimator, which has just taken the sample.
            static: the static features, with the first sample.
        """
        encoder = cfc.encoder_
        time, values = cfc._live[id].newest()
        if id not in self._times:
            self._static[id] = read_static(encoder, static)
        times, rows = self._times.setdefault(id, []), self._values.setdefault(id, [])
        if times and times[-1] == time:
            rows[-1] = values
        else:
            times.append(time)
            rows.append(values)
        series = SeriesSet(
            np.array([0, len(times)]),
            np.array(times),
            np.stack(rows),
            encoder.channels_,
            static=self._static[id][None],
            static_names=encoder.static_names_,
            time_unit=encoder.time_unit_,
        )
        return series.replace_unchecked(categories=dict(encoder.categories_))  # -1 is a category that training had not

    def forget(self, id: Any = None) -> None:
        """Forget the series `id`, or all of them if None."""
        for samples in (self._times, self._values, self._static):
            if id is None:
                samples.clear()
            else:
                samples.pop(id, None)
