"""The stored data of one series, as bytes: its clock, its state, and its newest samples."""

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
    """The values processed at one time.

    Args:
        ticks: the exact time: whole ticks, or the number itself.
        time: the time as the model reads it.
        channels: positions of the observed channels, uint16.
        values: their values, float32.
        prediction: prediction after them, float64.
    """

    ticks: int | float
    time: float
    channels: bytes
    values: bytes
    prediction: bytes

    def observed(self) -> dict[int, float]:
        """Return the values by the positions of their channels."""
        channels, values = np.frombuffer(self.channels, np.uint16), np.frombuffer(self.values, np.float32)
        return dict(zip(channels.tolist(), values.tolist(), strict=True))


class Record(Struct, array_like=True, frozen=True):
    """A series with at least one sample.

    Args:
        format: format of the record.
        kind: type of its clock.
        origin: origin of its clock.
        static: (F,) static features, float32.
        doubles: doubles of the state.
        floats: floats of the state.
        times: number of different times so far.
        updated: when the newest sample was processed, in seconds since 1970.
        newest: the newest samples, oldest first; at least one.
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
        """The clock of its times."""
        return Clock(self.kind, self.origin)

    def to_bytes(self) -> bytes:
        """Return the record in its stored form."""
        return _ENCODER.encode(self)


_ENCODER, _DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(Record)


class Sizes(NamedTuple):
    """Sizes of the parts of a record.

    Args:
        doubles: doubles of the state.
        floats: floats of the state.
        static: static features.
        channels: channels of a sample.
        outputs: outputs of a stored prediction.
    """

    doubles: int
    floats: int
    static: int
    channels: int
    outputs: int


def read_record(content: bytes, sizes: Sizes) -> Record:
    """Return a stored record after checking that every part has the size for the model.

    Args:
        content: the stored bytes.
        sizes: sizes for the model.

    Raises:
        ValueError: the record has another format, or is damaged.

    """
    try:
        record = _DECODER.decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"the stored series is damaged: {error}") from error
    if record.format != FORMAT:
        raise ValueError(f"the stored series has format {record.format}, but this version reads {FORMAT}")
    if (len(record.doubles), len(record.floats)) != (8 * sizes.doubles, 4 * sizes.floats):
        raise ValueError("the stored series has a state whose size differs from that of the model")
    counts = record.kind in range(len(KINDS)) and (record.kind == NUMBER) == (record.origin is None)
    if not counts or len(record.static) != 4 * sizes.static or not _fit(record.newest, sizes, record.kind):
        raise ValueError("the stored series is damaged: its parts do not fit together")
    return record


def _fit(newest: Sequence[Taken], sizes: Sizes, kind: int) -> bool:
    """Return whether there are samples, and all fit a model of these sizes."""
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
