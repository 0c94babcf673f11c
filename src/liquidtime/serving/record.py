"""What is stored of one series, as bytes: its clock, its state, and the newest of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from liquidtime.serving.clock import KINDS, NUMBER, Clock

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


class Sizes(NamedTuple):
    """How many numbers a record has of each kind.

    Args:
        doubles: of the state.
        floats: likewise.
        static: features.
        channels: of a sample.
        outputs: of a stored prediction.
    """

    doubles: int
    floats: int
    static: int
    channels: int
    outputs: int


def read_record(content: bytes, sizes: Sizes) -> Record:
    """Return a stored record, of which every part has the size that the model gives it.

    Args:
        content: as it was stored.
        sizes: of the model.

    Raises:
        ValueError: of another format, or damaged.

    """
    try:
        record = _DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"the stored series is damaged: {error}") from error
    if record.format != FORMAT:
        raise ValueError(f"the stored series is of format {record.format}, this version reads {FORMAT}")
    if (len(record.doubles), len(record.floats)) != (8 * sizes.doubles, 4 * sizes.floats):
        raise ValueError("the stored series has a state of another size than the model's")
    counts = record.kind in range(len(KINDS)) and (record.kind == NUMBER) == (record.origin is None)
    if not counts or len(record.static) != 4 * sizes.static or not _fit(record.newest, sizes, record.kind):
        raise ValueError("the stored series is damaged: its parts do not fit together")
    return record


def _fit(newest: Sequence[Taken], sizes: Sizes, kind: int) -> bool:
    """Return whether there are samples, and all are of a model of these sizes."""
    prediction = 8 * sizes.outputs
    if not newest or not all(
        2 * len(taken.channels) == len(taken.values) and len(taken.prediction) == prediction for taken in newest
    ):
        return False
    if kind != NUMBER and not all(isinstance(taken.ticks, int) for taken in newest):
        return False
    channels = b"".join([taken.channels for taken in newest])
    return len(channels) % 2 == 0 and bool((np.frombuffer(channels, np.uint16) < sizes.channels).all())


def numbers(content: bytes, kind: Any) -> npt.NDArray[Any]:
    """Return the numbers in bytes."""
    return np.frombuffer(content, dtype=kind)
