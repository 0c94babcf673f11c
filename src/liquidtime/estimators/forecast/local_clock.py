"""The local clock of a named time zone, including its changes."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
_YEARS = 1970, 2100
_DAY = 86400
_MOST = 4096
"""Largest number of clock changes of a stored zone."""
_FARTHEST = 26 * 3600.0


@dataclass(frozen=True)
class LocalClock:
    """The offset of a zone's clock from UTC, which changes at certain moments and is constant in between.

    Args:
        zone: its name, such as "Europe/Berlin".
        moments: of the changes, in seconds since 1970 UTC, in rising order.
        offsets: seconds ahead of UTC, before the first moment and from each on.
    """

    zone: str
    moments: tuple[float, ...]
    offsets: tuple[float, ...]

    @staticmethod
    @functools.lru_cache(maxsize=32)
    def of(zone: str) -> LocalClock | None:
        """Return the clock of a zone; None if this system does not know it."""
        try:
            known = ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return None

        def ahead(second: int) -> float:
            moment = datetime.datetime.fromtimestamp(second, known).utcoffset()
            return 0.0 if moment is None else moment.total_seconds()

        begin, end = (int(datetime.datetime(year, 1, 1, tzinfo=datetime.UTC).timestamp()) for year in _YEARS)
        moments, offsets = [], [ahead(begin)]
        for day in range(begin, end, _DAY):
            low, high = day, day + _DAY
            if ahead(high) == offsets[-1]:
                continue
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if ahead(middle) == offsets[-1] else (low, middle)
            moments.append(float(high))
            offsets.append(ahead(high))
        return LocalClock(zone, tuple(moments), tuple(offsets))

    def ahead(self, seconds: Values) -> Values:
        """Return (...) the seconds that the clock is ahead of UTC at moments (...), in seconds since 1970 UTC."""
        ahead: Values = np.array(self.offsets)[np.searchsorted(np.array(self.moments), seconds, side="right")]
        return ahead

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON; `from_dict` reads it."""
        return {"zone": self.zone, "moments": list(self.moments), "offsets": list(self.offsets)}

    @staticmethod
    def from_dict(stored: Any) -> LocalClock:
        """Read the result of `to_dict`, from a source that may not be trusted.

        Raises:
            ValueError: what is no such clock.

        """
        if not isinstance(stored, Mapping) or set(stored) != {"zone", "moments", "offsets"}:
            raise ValueError("`clock` of a forecaster must have a zone, moments and offsets")
        moments, offsets = (np.asarray(stored[name], dtype=np.float64) for name in ("moments", "offsets"))
        if not isinstance(stored["zone"], str) or moments.ndim != 1 or len(moments) > _MOST:
            raise ValueError("`clock` of a forecaster must have the name of a zone and a row of moments")
        if offsets.shape != (len(moments) + 1,) or not (np.abs(offsets) <= _FARTHEST).all():
            raise ValueError("`offsets` of a clock must be within a day, one more than its moments")
        if not np.isfinite(moments).all() or not (np.diff(moments) > 0).all():
            raise ValueError("`moments` of a clock must be finite and rising")
        return LocalClock(stored["zone"], tuple(moments.tolist()), tuple(offsets.tolist()))
