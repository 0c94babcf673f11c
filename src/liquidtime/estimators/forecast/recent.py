"""The memory of a live series that forecasts need."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from liquidtime.data.encoding import StepState
from liquidtime.data.encoding.observations import Observations, Past

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recent:
    """The newest values of C channels of one series that forecasts need; adding a sample returns a new memory.

    Args:
        places: positions of the channels.
        reach: how far back forecasts look; of what lies further the newest value is remembered.
        times: for each channel (n,) when it was observed, in steps that are complete.
        values: for each channel (n,) what was.
        total: (C,) sum of the values forgotten.
        count: (C,) their number.
        step: time of the open step, NaN before the first.
        open: (C,) its values as they stand, NaN = not observed.
    """

    places: tuple[int, ...]
    reach: float
    times: tuple[Values, ...] = ()
    values: tuple[Values, ...] = ()
    total: Values | None = None
    count: Values | None = None
    step: float = float("nan")
    open: Values | None = None

    @staticmethod
    def start(places: tuple[int, ...], reach: float) -> Recent:
        """Return the memory of a series before its first sample."""
        nothing, C = np.zeros(0), len(places)
        return Recent(places, reach, (nothing,) * C, (nothing,) * C, np.zeros(C), np.zeros(C), open=np.full(C, np.nan))

    def add(self, samples: StepState) -> Recent:
        """Return the memory after the current sample of `samples`, which has one series."""
        step, row = float(samples.step[0]), samples.values[0, list(self.places)].astype(np.float64)
        if step == self.step:
            return replace(self, open=row)
        times, values = self._with_open()
        assert self.total is not None
        assert self.count is not None
        total, count = self.total.copy(), self.count.copy()
        for k, own in enumerate(times):
            drop = max(0, int(np.searchsorted(own, own[-1] - self.reach, side="right")) - 1) if len(own) else 0
            drop = min(drop, max(0, len(own) - 2))
            total[k] += values[k][:drop].sum()
            count[k] += drop
            times[k], values[k] = own[drop:], values[k][drop:]
        return replace(self, times=tuple(times), values=tuple(values), total=total, count=count, step=step, open=row)

    def past(self) -> Past:
        """Return the past observations."""
        times, values = self._with_open()
        ends = np.cumsum([len(own) for own in times])
        begin = np.concatenate([[0], ends[:-1]])[None]
        assert self.total is not None
        assert self.count is not None
        observations = Observations(
            np.concatenate(times), np.concatenate(values), begin, ends[None], self.total[None], self.count[None]
        )
        return observations.up_to(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def _with_open(self) -> tuple[list[Values], list[Values]]:
        assert self.open is not None
        times, values = list(self.times), list(self.values)
        for k, value in enumerate(self.open):
            if not np.isnan(value):
                times[k], values[k] = np.append(times[k], self.step), np.append(values[k], value)
        return times, values
