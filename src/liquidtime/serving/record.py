"""What is stored of one series, as bytes: its clock, its state, and the newest of its samples."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from liquidtime.serving.clock import KINDS, Clock

FORMAT = 1
Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]


class Taken(Struct, array_like=True, frozen=True):
    """What was taken at one time.

    Args:
        ticks: the time, exactly: whole ticks, or the number that it is.
        time: as the model takes it.
        channels: positions of the channels that were observed, uint16.
        values: their values, float32.
        prediction: after it, float64.
    """

    ticks: int | float
    time: float
    channels: bytes
    values: bytes
    prediction: bytes

    def observed(self) -> dict[int, float]:
        """Return the values by the position of their channel."""
        channels, values = np.frombuffer(self.channels, np.uint16), np.frombuffer(self.values, np.float32)
        return dict(zip(channels.tolist(), values.tolist(), strict=True))


class Record(Struct, array_like=True, frozen=True):
    """A series that has had a sample.

    Args:
        format: of the record.
        kind: of its clock.
        origin: likewise.
        static: (F,) float32.
        doubles: of the state.
        floats: likewise.
        times: how many different times there were.
        updated: when the newest sample was taken, seconds since 1970.
        newest: samples, oldest first; at least one.
    """

    format: int
    kind: int
    origin: int | None
    static: bytes
    doubles: bytes
    floats: bytes
    times: int
    updated: float
    newest: list[Taken]

    @property
    def clock(self) -> Clock:
        """How its times are told."""
        return Clock(self.kind, self.origin)

    def to_bytes(self) -> bytes:
        """Return the record as it is stored."""
        return _ENCODER.encode(self)


_ENCODER, _DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Record)


def read_record(content: bytes, doubles: int, floats: int) -> Record:
    """Return a stored record.

    Args:
        content: as it was stored.
        doubles: how many of them a state has.
        floats: likewise.

    Raises:
        ValueError: of another format, or damaged.

    """
    try:
        record = _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise ValueError(f"the stored series is damaged: {error}") from error
    if record.format != FORMAT or record.kind not in range(len(KINDS)) or not record.newest:
        raise ValueError(f"the stored series is of format {record.format}, this version reads {FORMAT}")
    if (len(record.doubles), len(record.floats)) != (8 * doubles, 4 * floats):
        raise ValueError("the stored series has a state of another size than the model's")
    return record


def numbers(content: bytes, kind: Any) -> npt.NDArray[Any]:
    """Return the numbers in bytes."""
    return np.frombuffer(content, dtype=kind)
