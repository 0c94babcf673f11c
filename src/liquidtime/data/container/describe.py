"""A description of a set of series, as numbers and as a text to read before training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container.drawn_series import drawn_rows
from liquidtime.data.container.notes import Note, first_words

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet

_MOST_VALUES = 2**26


@dataclass(frozen=True)
class Spread:
    """Smallest, median and largest of some numbers; None if there are none."""

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
        spread: spread of the observed values; None if it is categorical.
        categories: its categories; empty if it is numeric.
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
        lengths: number of samples per series.
        intervals: time between neighbouring samples.
        spans: time from the first to the last sample, of series with two samples or more.
        time_unit: unit of intervals and spans, or None.
        channels: one entry per channel.
        static: one entry per static feature.
        notes: repairs during reading, and whatever is odd but valid.
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
                lines.append(f"{title} ({len(columns)}): observed in this share of samples, of series; values")
                lines += [f"  {column.name:<{width}}  {_row(column)}" for column in columns]
        if self.notes:
            lines.append("notes:")
            lines += [f"  {note}" for note in self.notes]
        return "\n".join(lines)


def _row(column: Column) -> str:
    values = f"categories {', '.join(column.categories)}" if column.spread is None else str(column.spread)
    return f"{column.observed:7.2%} {column.series:7.2%}  {values}"


def describe(data: SeriesSet) -> Description:
    """Describe a set: lengths, intervals, spans, channels with the fraction observed, and whatever is odd.

    Works block by block. The medians of a very large set are those of a random sample of series, which a note reports.
    """
    S, C, lengths = len(data), len(data.channels), data.lengths
    rows = drawn_rows(data, _MOST_VALUES)
    exact = len(rows) == S
    count, series_with, seen = np.zeros(C, dtype=np.int64), np.zeros(C, dtype=np.int64), np.zeros(S, dtype=bool)
    values, intervals, spans = [_Numbers() for _ in range(C)], _Numbers(), _Numbers()
    for place, part in data.blocks():
        observed = ~np.isnan(part.values)
        count += observed.sum(axis=0)
        some = part.lengths > 0
        touched = np.zeros((len(part), C), dtype=bool)
        if some.any() and C:
            touched[some] = np.logical_or.reduceat(observed, part.offsets[:-1][some], axis=0)
        series_with += touched.sum(axis=0)
        seen[place] = touched.any(axis=1)
        for numbers, own in _numbers_of(part, observed, values, intervals, spans):
            numbers.add(own, exact)
    if not exact:
        for _, part in data[rows].blocks():
            for numbers, own in _numbers_of(part, ~np.isnan(part.values), values, intervals, spans):
                numbers.sample.append(own)
    N = int(data.offsets[-1])
    channels = [
        Column(
            name, _share(count[c], N), _share(series_with[c], S),
            None if name in data.categories else values[c].spread(), tuple(data.categories.get(name, ())),
        )
        for c, name in enumerate(data.channels)
    ]  # fmt: skip
    static = []
    for position, name in enumerate(data.static_names):
        known = ~np.isnan(data.static[:, position])
        static.append(_column(data, name, data.static[known, position], _fraction(known), _fraction(known)))
    odd = [
        _odd("channels are never observed", [c.name for c in channels if c.observed == 0], C),
        _odd("channels are constant", [c.name for c in channels if c.constant], C),
        _odd("series have no observation", [f"series {name}" for name in data.ids[~seen]], S),
        _odd("series have a single sample", [f"series {name}" for name in data.ids[lengths == 1]], S),
        Note("kept", "series were drawn at random to compute the medians", 0 if exact else len(rows), S),
    ]
    return Description(
        series=S,
        samples=N,
        observations=int(count.sum()),
        lengths=Spread.of(lengths),
        intervals=intervals.spread(),
        spans=spans.spread(),
        time_unit=data.time_unit,
        channels=tuple(channels),
        static=tuple(static),
        notes=data.notes + tuple(note for note in odd if note.count),
    )


class _Numbers:
    """Numbers that are added in parts: their smallest and largest, and those that the median is computed from."""

    def __init__(self) -> None:
        self.least, self.largest = np.inf, -np.inf
        self.sample: list[npt.NDArray[Any]] = []

    def add(self, numbers: npt.NDArray[Any], keep: bool) -> None:
        if len(numbers):
            self.least, self.largest = min(self.least, float(numbers.min())), max(self.largest, float(numbers.max()))
        if keep:
            self.sample.append(numbers)

    def spread(self) -> Spread:
        sample = np.concatenate(self.sample) if self.sample else np.empty(0)
        if self.least > self.largest:
            return Spread(None, None, None)
        return Spread(self.least, float(np.median(sample)) if len(sample) else self.least, self.largest)


def _numbers_of(
    part: SeriesSet,
    observed: npt.NDArray[np.bool_],
    values: Sequence[_Numbers],
    intervals: _Numbers,
    spans: _Numbers,
) -> Iterator[tuple[_Numbers, npt.NDArray[Any]]]:
    """Yield the numbers of a block, each array with the collection that it is added to."""
    for c, numbers in enumerate(values):
        yield numbers, part.values[observed[:, c], c]
    inside = np.ones(len(part.times), dtype=bool)
    inside[part.offsets[:-1][part.lengths > 0]] = False
    yield intervals, np.diff(part.times, prepend=0.0)[inside]
    several = part.lengths > 1
    yield spans, part.times[part.offsets[1:][several] - 1] - part.times[part.offsets[:-1][several]]


def _share(count: Any, of: int) -> float:
    return float(count) / of if of else 0.0


def _fraction(flags: npt.NDArray[np.bool_]) -> float:
    return float(flags.mean()) if len(flags) else 0.0


def _column(data: SeriesSet, name: str, values: npt.NDArray[Any], observed: float, series: float) -> Column:
    labels = data.categories.get(name, ())
    return Column(name, observed, series, None if name in data.categories else Spread.of(values), tuple(labels))


def _odd(what: str, names: list[str], of: int) -> Note:
    return Note("kept", what, len(names), of, first_words(names))
