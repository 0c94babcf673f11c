"""Encode one series whose samples arrive one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from liquidtime.data.encoding.sample import Clock, read_static, read_values, refuse_overflow

if TYPE_CHECKING:
    from liquidtime.data.encoding.encoder import SeriesEncoder
    from liquidtime.data.encoding.step import StepState

Row = npt.NDArray[np.float32]


class _Position(NamedTuple):
    """The state of a stream: its clock, the state of its encoding, and whether the newest sample revised a step."""

    clock: Clock
    state: StepState
    revises: bool


class SeriesStream:
    """Encodes one series sample by sample, with the numbers that `SeriesEncoder.transform` gives for the whole.

    Samples at one time, or with `bin_width` in one bin, form one step. While a step is open, each update returns the
    step with the values so far and sets `revises`: the caller must then repeat the step from the state before it. The
    last update of a step gives the step of the whole series. A sample that is refused changes nothing.

    Attributes:
        static: (F,) float32 encoded static features.
    """

    def __init__(self, encoder: SeriesEncoder, static: Mapping[str, Any] | None = None) -> None:
        self._encoder = encoder
        self.static: Row = encoder.encode_static(read_static(encoder, static)[None])[0]
        self._position = _Position(Clock(), encoder.sample_step.start(1), revises=False)

    @property
    def revises(self) -> bool:
        """Whether the last update replaced the step before it instead of adding one."""
        return self._position.revises

    def update(self, t: Any, values: Any) -> tuple[Row, np.float32]:
        """Read and encode a sample.

        Args:
            t: time of the sample, a number in the unit of the encoder or a time stamp; of the same kind as the times
                before, and not earlier than the newest one.
            values: a mapping from channel names to values, or (C,) in the order of `channels_` of the encoder, with
                categories by position; NaN, None and channels that are left out are not observed.

        Returns:
            (D,) the input, and the scaled time since the previous step; see `revises`.

        Raises:
            TypeError: a time or a value is not a number.
            ValueError: the time is earlier, infinite or of another kind, a value is infinite, or a channel is unknown.

        """
        encoder, (clock, state, _) = self._encoder, self._position
        clock, time, row = read_sample(encoder, clock, state, t, values)
        after = encoder.sample_step.advance(state, time, row)
        step = encoder.sample_step.read(after)
        refuse_overflow(encoder, after, step, t)
        self._position = _Position(clock, after, revises=bool(after.step[0] == state.step[0]))
        return step.x[0], step.dt[0]


def read_sample(
    encoder: SeriesEncoder, clock: Clock, state: StepState, t: Any, values: Any
) -> tuple[Clock, npt.NDArray[np.float64], Row]:
    """Read a sample of one series.

    Args:
        encoder: fitted encoder.
        clock: clock of the series so far.
        state: state of the series so far, B = 1.
        t: argument of `SeriesStream.update`.
        values: argument of `SeriesStream.update`.

    Returns:
        The clock after the sample, (1,) its time and (1, C) its values, for `SampleStep.advance`.

    """
    row = encoder.plausible.of_row(read_values(encoder, values), encoder.channels_)
    clock, time = clock.read(t, encoder.time_unit_)
    if time < state.time[0]:
        raise ValueError(f"`t` must not be earlier than the previous sample, at {state.time[0]}; got {time}")
    return clock, np.array([time]), row[None]
