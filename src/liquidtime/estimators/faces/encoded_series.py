"""Series as the networks of one model read them, so that several questions about them encode them once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import Encoded, History, SeriesEncoder, SeriesSet
from liquidtime.data.container.series_set import flat_rows
from liquidtime.estimators.network.inputs import Prepared


class EncodedSeries:
    """S series before E encoders, encoded at most once by each, when first asked for.

    Made by an estimator's `encode`; its methods take it in place of the series themselves.

    Args:
        encoders: E fitted encoders of one model.
        data: the S series.
    """

    def __init__(self, encoders: Sequence[SeriesEncoder], data: SeriesSet) -> None:
        self.encoders = encoders
        # the first of several encoders takes every sample as it is, so that its steps are the series themselves,
        # with the channels of training: those are compared once only
        self.data = encoders[0].steps(data) if len(encoders) > 1 else data
        self._steps: dict[int, SeriesSet] = {}
        self._encoded: dict[int, Encoded] = {}
        self._prepared: dict[tuple[int, bool], Prepared] = {}

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: Any) -> EncodedSeries:
        """Return the series at some positions; what was encoded already is not encoded again."""
        chosen = np.asarray(rows, dtype=np.int64)
        part = EncodedSeries.__new__(EncodedSeries)
        part.encoders, part.data = self.encoders, self.data[chosen]
        part._steps = {place: steps[chosen] for place, steps in self._steps.items()}
        part._encoded = {place: _rows(encoded, chosen) for place, encoded in self._encoded.items()}
        part._prepared = {}
        return part

    def prepared(self, place: int = 0, *, every_step: bool = False) -> Prepared:
        """Return the series as a network takes them.

        Args:
            place: which encoder.
            every_step: with the history after every step, not only after the last one of each series.
        """
        encoder, key = self.encoders[place], (place, every_step)
        if place not in self._encoded:
            self._steps[place] = encoder.steps(self.data)
            self._encoded[place] = encoder.encode(self._steps[place])
        if key not in self._prepared:
            history = History(encoder)
            rows = history.at_steps(self._steps[place]) if every_step else history.at_ends(self._steps[place])
            self._prepared[key] = Prepared(self._encoded[place], rows, every_step)
        return self._prepared[key]


def _rows(encoded: Encoded, rows: npt.NDArray[np.int64]) -> Encoded:
    samples = flat_rows(encoded.offsets, rows)
    return replace(
        encoded,
        x=encoded.x[samples],
        dt=encoded.dt[samples],
        times=encoded.times[samples],
        offsets=np.concatenate([[0], np.cumsum(encoded.lengths[rows])]).astype(np.int64),
        static=encoded.static[rows],
        ids=encoded.ids[rows],
    )
