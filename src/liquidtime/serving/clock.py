"""The times of a series in JSON, without torch; a test compares this clock with the clock of `model.update`."""

from __future__ import annotations

import datetime
import math
import re
from typing import NamedTuple, TypeAlias

from liquidtime.serving.refusal import Refused

JsonTime: TypeAlias = int | float | str
EXACT = 2**53
KINDS = (
    "numbers",
    "whole numbers beyond 2**53",
    "time stamps without a time zone",
    "time stamps with a time zone",
)
NUMBER, LARGE, NAIVE, AWARE = range(4)
_LEAST, _MOST = -(2**63) + 1, 2**63 - 1
_EPOCH = datetime.datetime(1970, 1, 1)
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?(Z|z|[+-]\d\d:?\d\d)?)?", flags=re.ASCII
)


class Clock(NamedTuple):
    """The type of times in one series; a series keeps the type of its first sample.

    Args:
        kind: position in `KINDS`; None before the first sample.
        origin: the first time, for time stamps (in nanoseconds since 1970) and large whole numbers, from which later
            times are counted; None for other numbers.
    """

    kind: int | None = None
    origin: int | None = None

    def read(self, json_time: JsonTime, nanoseconds: int | None) -> tuple[Clock, int | float, float]:
        """Return the clock after a sample, the time in whole ticks or as the number it is, and the time for the model.

        Args:
            json_time: a number in the time unit of the model, or a time stamp in ISO 8601.
            nanoseconds: length of the model's time unit; None if training had no unit.

        Raises:
            Refused: the text is not a time, or of another type than earlier times of the series.

        """
        kind, ticks = _read(json_time, self.kind == LARGE)
        if kind in (NAIVE, AWARE) and nanoseconds is None:
            raise Refused(
                422,
                "bad_time",
                f"`time` must be a number: the times of training had no unit; got {json_time!r}",
                "time",
            )
        if self.kind is not None and kind != self.kind:
            raise Refused(
                409,
                "other_clock",
                f"`time` must be the same type of time as before in this series, {KINDS[self.kind]}; got {KINDS[kind]} "
                f"({json_time!r}). Convert it, or delete the series and start it again.",
                "time",
            )
        if kind == NUMBER:
            return Clock(NUMBER), float(ticks), float(ticks)
        assert isinstance(ticks, int)
        origin = ticks if self.origin is None else self.origin
        per_unit = 1 if kind == LARGE or nanoseconds is None else nanoseconds
        return Clock(kind, origin), ticks, float(ticks - origin) / per_unit

    def tell(self, ticks: int | float) -> JsonTime:
        """Return a time for people and programs: a number, or a time stamp in ISO 8601."""
        if self.kind in (None, NUMBER, LARGE):
            return ticks
        seconds, rest = divmod(int(ticks), 10**9)
        text = (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat()
        fraction = f".{rest:09d}".rstrip("0").rstrip(".")
        return f"{text}{fraction}{'Z' if self.kind == AWARE else ''}"

    def tell_time(self, time: float, nanoseconds: int | None) -> JsonTime:
        """Return a time of the model in the form of `tell`.

        Args:
            time: time as the model reads it.
            nanoseconds: length of the model's time unit; None if training had no unit.

        Raises:
            Refused: the time stamp is outside the supported years.

        """
        if self.kind in (None, NUMBER):
            return time
        assert self.origin is not None
        per_unit = 1 if self.kind == LARGE or nanoseconds is None else nanoseconds
        ticks = self.origin + round(time * per_unit) if math.isfinite(time * per_unit) else _MOST + 1
        if not _LEAST <= ticks <= _MOST:
            raise Refused(422, "bad_time", "the requested times must lie in 1678…2262, or fit in 64-bit numbers")
        return self.tell(ticks)


def _read(json_time: JsonTime, large: bool) -> tuple[int, int | float]:
    if isinstance(json_time, str):
        return _read_stamp(json_time)
    if isinstance(json_time, int) and (large or abs(json_time) > EXACT):
        if not _LEAST <= json_time <= _MOST:
            raise Refused(422, "bad_time", "`time` must fit in 64-bit whole numbers; send it as a smaller one", "time")
        return LARGE, json_time
    if not math.isfinite(json_time):
        raise Refused(422, "bad_time", f"`time` must be finite; got {json_time}", "time")
    return NUMBER, float(json_time)


def _read_stamp(text: str) -> tuple[int, int]:
    match = _STAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        day, clock, fraction, zone = match.groups()
        if fraction and clock.count(":") < 2:
            raise ValueError
        moment = datetime.datetime.fromisoformat(f"{day}T{clock or '00:00'}")
        offset = datetime.timedelta(0)
        if zone and zone not in "Zz":
            hours, minutes = int(zone[1:3]), int(zone[-2:])
            if hours > 23 or minutes > 59:
                raise ValueError
            offset = datetime.timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
    except ValueError:
        raise Refused(
            422,
            "bad_time",
            "`time` must be a number or a time stamp such as '2026-03-01T08:30:00Z' (ISO 8601, at most nanoseconds); "
            f"got {text[:60]!r}",
            "time",
        ) from None
    since = moment - _EPOCH
    ticks = ((since.days * 86_400 + since.seconds) * 10**6) * 1000 + int((fraction or "0").ljust(9, "0"))
    ticks -= (offset.days * 86_400 + offset.seconds) * 10**9
    if not _LEAST <= ticks <= _MOST:
        raise Refused(422, "bad_time", f"`time` must be a time stamp in 1678…2262; got {text!r}", "time")
    return (AWARE if zone else NAIVE), ticks
