"""Read one sample from a caller: its time on the clock of the series, and its values in the order of the channels."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import EXACT, as_ticks
from liquidtime.data.reading import label_of
from liquidtime.errors import nearest, wrong_shape
from liquidtime.times import as_utc

if TYPE_CHECKING:
    from liquidtime.data.encoding.encoder import SeriesEncoder
    from liquidtime.data.encoding.step import Step, StepState

Row = npt.NDArray[np.float32]
_LARGEST = float(np.finfo(np.float32).max)


class Clock(NamedTuple):
    """The kind of times in one series; a series keeps the kind of its first sample.

    Args:
        kind: the kind of `t` in words; None before the first sample.
        origin: the first time, from which time stamps (in nanoseconds) and large whole numbers count, as in a set;
            None for other numbers.
    """

    kind: str | None = None
    origin: int | None = None

    @property
    def origins(self) -> npt.NDArray[Any] | None:
        """(1,) the origin as a set stores it: a time stamp, a whole number, or None if times are numbers."""
        if self.origin is None:
            return None
        return np.array([self.origin], dtype=np.int64 if self.kind == _LARGE else "datetime64[ns]")

    def read(self, t: Any, unit: str | None) -> tuple[Clock, float]:
        """Return the clock after a sample at `t`, and its time as a set would store it.

        Args:
            t: a number in `unit`, or a time stamp.
            unit: the time unit of training.

        Raises:
            TypeError: `t` is neither a number nor a time stamp.
            ValueError: `t` is not finite, or of another kind than the times of the series so far.

        """
        kind, value, ticks_per_unit = _kind_and_time(t, unit, self.origin is not None and self.kind == _LARGE)
        if self.kind is not None and kind != self.kind:
            raise ValueError(
                f"`t` must be the same kind of time as before in this series, {self.kind}; got {kind} ({t!r}). "
                "Convert it, or "
                "call reset to start the series again."
            )
        if isinstance(value, float):
            return Clock(kind), value
        origin = value if self.origin is None else self.origin
        return Clock(kind, origin), float(value - origin) / ticks_per_unit


_NUMBER, _LARGE = "numbers", "whole numbers beyond 2**53"
_NAIVE, _AWARE = "time stamps without a time zone", "time stamps with a time zone"
CLOCK_KINDS = (_NUMBER, _LARGE, _NAIVE, _AWARE)
"""Every kind of clock, in words."""


def _kind_and_time(t: Any, unit: str | None, large: bool) -> tuple[str, float | int, int]:
    """Return the kind of a time, the time as a float or in whole ticks, and the ticks in a unit of time."""
    if isinstance(t, np.ndarray) and t.ndim == 0:
        t = t[()]
    if isinstance(t, datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64):
        return _stamp(t, unit)
    if isinstance(t, int | np.integer) and (large or abs(int(t)) > EXACT):
        return _LARGE, int(t), 1
    if isinstance(t, str | bytes) or np.ndim(t) != 0:
        raise TypeError(f"`t` must be one number or one time stamp; got {t!r}")
    try:
        time = float(t)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"`t` must be a number or a time stamp; got {t!r} ({type(t).__name__})") from None
    if not np.isfinite(time):
        raise ValueError(f"`t` must be finite; got {time}")
    return _NUMBER, time, 1


def _stamp(t: Any, unit: str | None) -> tuple[str, int, int]:
    if unit is None:
        raise ValueError(f"`t` must be a number: the times of training had no unit; got the time stamp {t!r}")
    aware = getattr(t, "tzinfo", None) is not None
    stamp = np.array([as_utc(t)])
    if np.isnat(stamp[0]):
        raise ValueError("`t` must be a time; got NaT")
    ticks = as_ticks(stamp, unit)
    return _AWARE if aware else _NAIVE, int(ticks.values[0]), round(1.0 / ticks.factor)


def read_values(encoder: SeriesEncoder, values: Any) -> Row:
    """Return (C,) values in the order of the encoder's channels, NaN = not observed.

    Args:
        encoder: fitted encoder.
        values: a mapping from channels to values, with categories by name; or (C,) with categories by position.

    Raises:
        TypeError: values are not numbers.
        ValueError: a channel is unknown, the shape is wrong, or a value is infinite or not a position of a category.

    """
    names = encoder.channels_
    if isinstance(values, Mapping):
        return _by_name(encoder, values, names, "values")
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"`values` must be a mapping from channels to values or (C,) numbers; got {values!r}") from None
    if row.shape != (len(names),):
        raise wrong_shape("values", "(C,)", [len(names)], row.shape, "Or a mapping from channels to values.")
    for name, value in zip(names, row.tolist(), strict=True):
        labels = encoder.categories_.get(name)
        if labels is not None and value == value and value not in range(-1, len(labels)):
            raise ValueError(
                f"`values` of the categorical {name!r} must be positions in 0…{len(labels) - 1}, or -1 for an unknown "
                f"category; got {value:g}. Or give a mapping with the category's name."
            )
    return _finite(row, names, "values")


def read_static(encoder: SeriesEncoder, static: Mapping[str, Any] | None) -> Row:
    """Return (F,) static features in the order of training, NaN = not known.

    Args:
        encoder: fitted encoder.
        static: features by name; those that are left out are not known.

    Raises:
        TypeError: not a mapping, or a value is not a number.
        ValueError: a feature is unknown, or a value is infinite.

    """
    if static is not None and not isinstance(static, Mapping):
        raise TypeError(f"`static` must be a mapping from features to values; got {type(static).__name__}")
    return _by_name(encoder, static or {}, encoder.static_names_, "static")


def refuse_overflow(encoder: SeriesEncoder, state: StepState, step: Step, t: Any) -> None:
    """Refuse a sample at `t` if the open step of the series then has numbers that float32 cannot represent."""
    if not (np.isfinite(state.step).all() and np.isfinite(step.dt).all()):
        raise ValueError(
            f"`t` must be within {_LARGEST:.3g} median intervals ({encoder.time_scale_:g}) of the last step; got {t!r}"
        )
    if not np.isfinite(step.x).all():
        name = encoder.channels_[encoder.layout_.channel_of[int(np.argmax(~np.isfinite(step.x[0])))]]
        raise ValueError(f"`values` and `t` must give inputs that float32 can hold; {name!r} does not at t = {t!r}")
    if not np.isfinite(step.history).all():
        raise ValueError(f"`values` must have running statistics that float32 can hold; those at t = {t!r} do not")


def _by_name(encoder: SeriesEncoder, values: Mapping[str, Any], names: tuple[str, ...], argument: str) -> Row:
    row = np.full(len(names), np.nan)
    for name, value in values.items():
        if name not in names:
            hint = nearest(str(name), names) or "."
            raise ValueError(f"`{argument}` must name channels or features of training; {name!r} is neither{hint}")
        if _is_missing(value):
            continue
        labels = encoder.categories_.get(name)
        if labels is not None:
            label = label_of(value)
            row[names.index(name)] = labels.index(label) if label in labels else -1.0
        else:
            row[names.index(name)] = _number(argument, name, value)
    return _finite(row, names, argument)


def _is_missing(value: Any) -> bool:
    """Return whether a value means "not observed": None, NaN, NaT, or NA of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA is neither equal nor unequal to itself; an array has no single truth value
        return type(value).__name__ == "NAType"


def _number(argument: str, name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        raise TypeError(f"`{argument}` must have numbers where training had numbers; {name!r} is {value!r}") from None


def _finite(row: npt.NDArray[np.float64], names: tuple[str, ...], argument: str) -> Row:
    """Return the row in float32; refuse values that are infinite in float32."""
    large = np.abs(row) > _LARGEST
    if large.any():
        name = names[int(np.argmax(large))]
        text = "infinite" if np.isinf(row[large]).any() else "too large for float32"
        raise ValueError(f"`{argument}` must be finite, or NaN if not observed; {name!r} is {text}")
    return row.astype(np.float32)
