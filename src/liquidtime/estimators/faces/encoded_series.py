"""Series for the networks of one model, which are compared with those of training and encoded only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.estimators.network.inputs import Prepared, budget
from liquidtime.estimators.network.summary import Summary
from liquidtime.training.devices import device_of


class EncodedSeries:
    """S series for E encoders, compared with those of training only once.

    The first use encodes them batch by batch and stores nothing; from the second use on, encoded series are stored if
    they fit into memory. Returned by `encode` of an estimator, whose methods accept it instead of the series.

    Args:
        encoders: E fitted encoders of one model.
        data: the S series.
        summary: features of whole series for the read-out, or None.
    """

    def __init__(self, encoders: Sequence[SeriesEncoder], data: SeriesSet, summary: Summary | None = None) -> None:
        self.encoders, self.summary = encoders, summary
        # the first of several encoders takes every sample as it is, so that its steps are the series themselves,
        # with the channels of training: those are compared once only
        self._aligned = encoders[0].aligned(data) if len(encoders) > 1 else None
        self.data = data if self._aligned is None else self._aligned
        self._prepared: dict[tuple[int, bool, torch.device], Prepared | None] = {}

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: Any) -> EncodedSeries:
        """Return the series at these positions."""
        chosen = np.asarray(rows, dtype=np.int64)
        part = EncodedSeries.__new__(EncodedSeries)
        part.encoders, part.summary, part.data, part._prepared = self.encoders, self.summary, self.data[chosen], {}
        part._aligned = None if self._aligned is None else self._aligned[chosen]
        return part

    def prepared(self, position: int = 0, *, every_step: bool = False, device: str = "cpu") -> Prepared:
        """Return the series in the form for a network.

        Args:
            position: position of the encoder.
            every_step: whether to include the history after every step, not only after the last one of each series.
            device: device of the batches; see `device_of`.
        """
        if self._aligned is None:
            self._aligned = self.encoders[0].aligned(self.data)
        key = position, every_step, device_of(device)
        kept = self._prepared.get(key)
        if kept is None:
            again = key in self._prepared
            room = budget(self.data) if again else 0
            kept = Prepared(self.encoders[position], self._aligned, every_step, room, key[2], self.summary)
            self._prepared[key] = kept if again else None
        return kept
