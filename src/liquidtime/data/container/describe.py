"""What is in a set of series, as numbers and as a text to read before training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container.notes import Note, first_words

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet


@dataclass(frozen=True)
class Spread:
    """Least, median and largest of some numbers; None where there are none."""

    least: float | None
    median: float | None
    largest: float | None

    @staticmethod
    def of(numbers: npt.NDArray[Any]) -> Spread:
        """Measure an array without NaN."""
        if len(numbers) == 0:
            return Spread(None, None, None)
        return Spread(float(numbers.min()), float(np.median(numbers)), float(numbers.max()))

    def __str__(self) -> str:
        if self.least is None:
            return "none"
        return f"min {self.least:.6g}, median {self.median:.6g}, max {self.largest:.6g}"


@dataclass(frozen=True)
class Column:
    """A channel or a static feature.

    Args:
        name: its name.
        observed: fraction of the samples (static: of the series) in which it is observed, 0…1.
        series: fraction of the series in which it is observed at least once, 0…1.
        spread: of the observed values; of a categorical one, None.
        categories: of a categorical one; otherwise empty.
    """

    name: str
    observed: float
    series: float
    spread: Spread | None
    categories: tuple[str, ...] = ()

    @property
    def constant(self) -> bool:
        """Whether every observed value is the same."""
        return self.spread is not None and self.spread.least is not None and self.spread.least == self.spread.largest


@dataclass(frozen=True)
class Description:
    """What `SeriesSet.describe` returns; its text is `str(description)`.

    Args:
        series: number of series.
        samples: number of samples (distinct times) in all.
        observations: number of observed values in all.
        lengths: samples in a series.
        intervals: time between neighbouring samples.
        spans: time from the first to the last sample of a series of two or more.
        time_unit: of intervals and spans, or None.
        channels: one entry per channel.
        static: one entry per static feature.
        notes: what reading found, and what here is odd but legal.
    """

    series: int
    samples: int
    observations: int
    lengths: Spread
    intervals: Spread
    spans: Spread
    time_unit: str | None
    channels: tuple[Column, ...]
    static: tuple[Column, ...]
    notes: tuple[Note, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and lists, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        unit = f" {self.time_unit}" if self.time_unit else ""
        lines = [
            f"{self.series:,} series, {self.samples:,} samples, {self.observations:,} observed values",
            f"samples per series: {self.lengths}",
            f"intervals{unit and ' in' + unit}: {self.intervals}",
            f"time span{unit and ' in' + unit}: {self.spans}",
        ]
        for title, columns in (("channels", self.channels), ("static features", self.static)):
            if columns:
                width = max(len(column.name) for column in columns)
                lines.append(f"{title} ({len(columns)}): fraction of samples observed, of series, values")
                lines += [f"  {column.name:<{width}}  {_row(column)}" for column in columns]
        if self.notes:
            lines.append("notes:")
            lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)


def _row(column: Column) -> str:
    values = f"categories {', '.join(column.categories)}" if column.spread is None else str(column.spread)
    return f"{column.observed:7.2%} {column.series:7.2%}  {values}"


def describe(data: SeriesSet) -> Description:
    """Measure a set: lengths, intervals, spans, channels with the fraction observed, and what is odd."""
    lengths = data.lengths
    steps = np.diff(data.times)
    inside = np.ones(len(steps), dtype=bool)
    inside[data.offsets[1:-1][(data.offsets[1:-1] > 0) & (data.offsets[1:-1] < len(data.times))] - 1] = False
    several = np.flatnonzero(lengths > 1)
    spans = data.times[data.offsets[several + 1] - 1] - data.times[data.offsets[several]]
    owner = np.repeat(np.arange(len(data)), lengths)
    channels, observations, seen = [], 0, np.zeros(len(data), dtype=bool)
    for position, name in enumerate(data.channels):
        observed = ~np.isnan(data.values[:, position])
        touched = np.zeros(len(data), dtype=bool)
        touched[owner[observed]] = True
        seen |= touched
        observations += int(observed.sum())
        channels.append(_column(data, name, data.values[observed, position], _fraction(observed), _fraction(touched)))
    static = []
    for position, name in enumerate(data.static_names):
        known = ~np.isnan(data.static[:, position])
        static.append(_column(data, name, data.static[known, position], _fraction(known), _fraction(known)))
    odd = [
        _odd("channels never observed", [c.name for c in channels if c.observed == 0], len(channels)),
        _odd("channels always the same", [c.name for c in channels if c.constant], len(channels)),
        _odd("series without any observation", [f"series {name}" for name in data.ids[~seen]], len(data)),
        _odd("series of a single sample", [f"series {name}" for name in data.ids[lengths == 1]], len(data)),
    ]
    return Description(
        series=len(data),
        samples=len(data.times),
        observations=observations,
        lengths=Spread.of(lengths),
        intervals=Spread.of(steps[inside]),
        spans=Spread.of(spans),
        time_unit=data.time_unit,
        channels=tuple(channels),
        static=tuple(static),
        notes=data.notes + tuple(note for note in odd if note.count),
    )


def _fraction(flags: npt.NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def _column(data: SeriesSet, name: str, values: npt.NDArray[Any], observed: float, series: float) -> Column:
    labels = data.categories.get(name, ())
    return Column(name, observed, series, None if name in data.categories else Spread.of(values), tuple(labels))


def _odd(what: str, names: list[str], of: int) -> Note:
    return Note("kept", what, len(names), of, first_words(names))
