"""Single values so far from all others that they must be faults; they are read as not observed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import SeriesSet

_FEWEST = 50
"""Smallest number of values of a channel for detecting faults."""
_USUAL = 0.9
"""Quantile of the distances from the median, of the values that differ from it."""
_FAR = 100.0
"""Smallest distance of a fault, in multiples of this quantile."""
_GAP = 5.0
"""Smallest distance of a fault, in multiples of the farthest other value: heavy tails leave no such gap."""
_RARE = 0.005
"""Largest fraction of the values that can be faults."""
_ALONE = 0.9
"""Smallest fraction of the far values that have an ordinary neighbour in time and no far one."""


@dataclass(frozen=True)
class Plausible:
    """The ranges of values of channels that are accepted as measurements.

    A channel has bounds only if training showed faults: single values, at most one in 200, at least 100 times as far
    from the median as the upper tenth of the others and 5 times as far as any of these, between ordinary ones. Series
    that are large as a whole, bursts that last and heavy tails have none.

    Args:
        bounds: for channels with faults, the smallest and the largest value that is not a fault.
        count: number of training values outside these bounds.
    """

    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    count: int = 0

    @staticmethod
    def of(data: SeriesSet, leave: Collection[str] = ()) -> Plausible:
        """Return the bounds computed from training series.

        Args:
            data: the series.
            leave: channels that are left unchanged, besides the categorical ones.
        """
        bounds, count = {}, 0
        series = np.repeat(np.arange(len(data)), data.lengths)
        for place, name in enumerate(data.channels):
            if name in data.categories or name in leave:
                continue
            known = np.flatnonzero(~np.isnan(data.values[:, place]))
            found = _bounds(data.values[known, place].astype(np.float64), series[known])
            if found is not None:
                (low, high), far = found
                bounds[name], count = (low, high), count + far
        return Plausible(bounds, count)

    def clean(self, data: SeriesSet) -> SeriesSet:
        """Return the set without the values outside the bounds."""
        places = [(data.channels.index(name), ends) for name, ends in self.bounds.items() if name in data.channels]
        beyond = [
            (place, (data.values[:, place] < low) | (data.values[:, place] > high)) for place, (low, high) in places
        ]
        if not any(rows.any() for _, rows in beyond):
            return data
        values = data.values.copy()
        for place, rows in beyond:
            values[rows, place] = np.nan
        return data.replace_unchecked(values=values)

    def of_row(self, row: npt.NDArray[np.float32], channels: Collection[str]) -> npt.NDArray[np.float32]:
        """Return the values (C,) of one sample without those outside the bounds."""
        low, high = self.ends(channels)
        return np.where((row < low) | (row > high), np.float32(np.nan), row) if self.bounds else row

    def ends(self, channels: Collection[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return (C,) the lower and the upper bounds of channels, infinite if there are none."""
        free = (-np.inf, np.inf)
        ends = np.array([self.bounds.get(name, free) for name in channels], dtype=np.float32).reshape(-1, 2)
        return ends[:, 0], ends[:, 1]

    def to_dict(self) -> dict[str, list[float]]:
        """Return values for JSON, which `from_dict` reads."""
        return {name: list(ends) for name, ends in self.bounds.items()}

    @staticmethod
    def from_dict(stored: Any, channels: Collection[str]) -> Plausible:
        """Return the bounds from the result of `to_dict`, which may come from an untrusted file.

        Raises:
            ValueError: a value is not a pair of increasing finite numbers, or its channel is unknown.

        """
        if not isinstance(stored, Mapping) or not set(stored) <= set(channels):
            raise ValueError("`plausible` must have bounds of channels")
        for name, ends in stored.items():
            if not (
                isinstance(ends, list)
                and len(ends) == 2
                and all(isinstance(end, int | float) and not isinstance(end, bool) and np.isfinite(end) for end in ends)
                and ends[0] < ends[1]
            ):
                raise ValueError(f"`plausible` must have two increasing finite numbers for {name!r}; got {ends!r}")
        return Plausible({name: (float(low), float(high)) for name, (low, high) in stored.items()})


def _bounds(values: npt.NDArray[np.float64], series: npt.NDArray[np.int64]) -> tuple[tuple[float, float], int] | None:
    """Return the bounds of one channel, and the number of values outside them; None if there are no faults.

    Args:
        values: (n,) observed values.
        series: (n,) their series, in order of time.
    """
    if len(values) < _FEWEST:
        return None
    middle = float(np.median(values))
    away = np.abs(values - middle)
    some = away[away > 0]
    if len(some) < _FEWEST:
        return None
    reach = _FAR * float(np.quantile(some, _USUAL))
    far = away > reach
    if not far.any() or far.mean() > _RARE or away[far].min() < _GAP * away[~far].max():
        return None
    same = series[1:] == series[:-1]
    beside = np.zeros(len(values), dtype=np.int64)  # ordinary neighbours
    beside[1:] += same & ~far[:-1]
    beside[:-1] += same & ~far[1:]
    near = np.zeros(len(values), dtype=np.int64)  # far neighbours
    near[1:] += same & far[:-1]
    near[:-1] += same & far[1:]
    if ((beside > 0) & (near == 0))[far].mean() < _ALONE:
        return None
    return (middle - reach, middle + reach), int(far.sum())
