"""The set of irregular series, ragged and columnar: every reader returns one, and every model takes one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from liquidtime.data.container.concatenate import arranged, concatenate
from liquidtime.data.container.describe import Description, describe
from liquidtime.data.container.frames import to_pandas, to_polars, to_xarray
from liquidtime.data.container.notes import Note
from liquidtime.data.container.plots import plot_series
from liquidtime.data.container.show import series_set_html
from liquidtime.data.container.time_units import check_unit, conversion
from liquidtime.errors import wrong_shape

if TYPE_CHECKING:
    import polars

    from liquidtime.data.stored import StoredSet

FloatArray = npt.NDArray[np.float32]
BLOCK = 2**16
"""Number of samples that are processed at once if a set may be larger than memory."""


@dataclass(frozen=True, eq=False)
class Series:
    """One series of a set.

    Args:
        id: id of the series.
        times: (T,) float64, strictly increasing, in the time unit of the set.
        values: (T, C) float32, NaN = not observed.
        static: (F,) float32 static features, NaN = not known.
        channels: C names.
        time_unit: unit of the times.
        categories: categories of categorical channels.
        origin: the absolute time of time 0; None: times are absolute.
    """

    id: Any
    times: npt.NDArray[np.float64]
    values: FloatArray
    static: FloatArray
    channels: tuple[str, ...] = field(default=(), repr=False)
    time_unit: str | None = field(default=None, repr=False)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    origin: Any = field(default=None, repr=False)

    def plot(self, channels: Sequence[str] | None = None) -> Any:
        """Return a matplotlib figure of this series, one panel per channel; see `SeriesSet.plot`."""
        names = self.channels or tuple(str(place) for place in range(self.values.shape[1]))
        alone = SeriesSet(
            offsets=np.array([0, len(self.times)]),
            times=self.times,
            values=self.values,
            channels=names,
            ids=np.array([self.id]),
            time_unit=self.time_unit,
            categories={name: labels for name, labels in self.categories.items() if name in names},
            origins=None if self.origin is None else np.array([self.origin]),
        )
        return plot_series(alone, channels=channels)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesSet:
    """A set of S irregular series with C channels, in flat arrays: series i has the rows offsets[i] to offsets[i + 1].

    Create one with `from_long`, `from_wide` or `from_arrays`. It behaves like a sequence of series, so scikit-learn can
    split it. An index returns a `Series`; a slice, an array of positions or a mask returns a `SeriesSet`.

    Args:
        offsets: (S + 1,) int64, from 0 to N, not decreasing; a series may be empty.
        times: (N,) float64, finite and strictly increasing within a series, in `time_unit`. If times were time stamps,
            they count from the first sample of their series, whose time stamp is in `origins`.
        values: (N, C) float32, NaN = not observed. A categorical channel holds positions in its `categories`.
        channels: C distinct names.
        ids: (S,) ids, whole numbers or texts; 0…S - 1 if None.
        static: (S, F) float32 static features, NaN = not known; no features if None.
        static_names: F distinct names.
        time_unit: "ns", "us", "ms", "s", "min", "h", "D", or None for numbers without a known unit.
        categories: the categories of each categorical channel or static feature.
        origins: (S,) datetime64[ns] or int64, the absolute time of time 0 in each series; None: times are absolute.
        notes: what was repaired, dropped or odd when the data were read.
        reading: formats found in the table: separator, decimal mark, encoding, time format and time zone. Pass it as
            `usual` when you read other tables.
    """

    offsets: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    values: FloatArray
    channels: tuple[str, ...]
    ids: npt.NDArray[Any] = None  # type: ignore[assignment]
    static: FloatArray = None  # type: ignore[assignment]
    static_names: tuple[str, ...] = ()
    time_unit: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    origins: npt.NDArray[Any] | None = None
    notes: tuple[Note, ...] = ()
    reading: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "offsets", np.asarray(self.offsets, dtype=np.int64))
        put(self, "times", np.asarray(self.times, dtype=np.float64))
        put(self, "values", np.asarray(self.values, dtype=np.float32))
        put(self, "channels", tuple(self.channels))
        put(self, "static_names", tuple(self.static_names))
        S = len(self.offsets) - 1
        put(self, "ids", np.arange(S) if self.ids is None else np.asarray(self.ids))
        empty = np.empty((S, 0), dtype=np.float32)
        put(self, "static", empty if self.static is None else np.asarray(self.static, dtype=np.float32))
        _check(self)

    @classmethod
    def from_long(cls, frame: Any, *, id: str, time: str, channel: str, value: str, **options: Any) -> SeriesSet:
        """Read a frame with one measurement per row; see `liquidtime.data.reading.from_long`."""
        from liquidtime.data.reading import from_long

        return from_long(frame, id=id, time=time, channel=channel, value=value, **options)

    @classmethod
    def from_wide(cls, frame: Any, *, id: str | None = None, time: str | None = None, **options: Any) -> SeriesSet:
        """Read a frame with one sample per row and one channel per column; see `liquidtime.data.reading.from_wide`."""
        from liquidtime.data.reading import from_wide

        return from_wide(frame, id=id, time=time, **options)

    @classmethod
    def from_arrays(cls, values: Any, times: Any = None, **options: Any) -> SeriesSet:
        """Take arrays: (B, T, C), (B, T), or a list of (times, values); see `liquidtime.data.reading.from_arrays`."""
        from liquidtime.data.reading import from_arrays

        return from_arrays(values, times, **options)

    @staticmethod
    def concatenate(sets: Sequence[SeriesSet]) -> SeriesSet:
        """Put sets one after the other; see `liquidtime.data.container.concatenate`."""
        return concatenate(sets)

    def __add__(self, other: SeriesSet) -> SeriesSet:
        return concatenate([self, other]) if isinstance(other, SeriesSet) else NotImplemented

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """(S,): to scikit-learn a set is a one-dimensional array of series."""
        return (len(self),)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """(S,) number of samples of each series."""
        return np.diff(self.offsets)

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        arrays = (self.offsets, self.times, self.values, self.ids, self.static)
        return sum(array.nbytes for array in arrays) + (0 if self.origins is None else self.origins.nbytes)

    def __iter__(self) -> Iterator[Series]:
        return (self[position] for position in range(len(self)))

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Series: ...
    @overload
    def __getitem__(self, key: Any) -> SeriesSet: ...
    def __getitem__(self, key: Any) -> Series | SeriesSet:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]  # scikit-learn writes array[rows, ...]
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            return self._one(int(key))
        if isinstance(key, slice):
            return self.take(np.arange(*key.indices(len(self))))
        rows = np.asarray(key)
        if rows.dtype == bool:
            if rows.shape != (len(self),):
                raise wrong_shape("key", "(S,)", [len(self)], rows.shape, "A mask has one truth value per series.")
            return self.take(np.flatnonzero(rows))
        return self.take(rows)

    def _one(self, position: int) -> Series:
        S = len(self)
        if not -S <= position < S:
            raise IndexError(f"`key` must be a position in a set of {S} series; got {position}")
        position %= S
        rows = slice(self.offsets[position], self.offsets[position + 1])
        origin = None if self.origins is None else self.origins[position]
        whose = (self.ids[position], self.times[rows], self.values[rows], self.static[position])
        return Series(*whose, self.channels, self.time_unit, self.categories, origin)

    def take(self, indices: Any, axis: int = 0) -> SeriesSet:
        """Return the series at these positions, in this order; a position may occur twice. Notes are left out."""
        rows = np.asarray(indices)
        if rows.size == 0:
            rows = rows.astype(np.int64)
        if axis != 0 or rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise TypeError(f"`indices` must be whole numbers of shape (K,); got {rows.dtype} of shape {rows.shape}")
        S = len(self)
        if rows.size and not (int(rows.min()) >= -S and int(rows.max()) < S):
            raise IndexError(f"`indices` must be positions in a set of {S} series; got {rows.min()}…{rows.max()}")
        rows = np.where(rows < 0, rows + S, rows).astype(np.int64)
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return self._taken(rows, offsets)

    def _taken(self, rows: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]) -> SeriesSet:
        """Return the series at positions that have been checked; `offsets` are those of the result."""
        steps: Any = flat_rows(self.offsets, rows)
        if len(rows) and (np.diff(rows) == 1).all():
            steps = slice(self.offsets[rows[0]], self.offsets[rows[-1] + 1])  # a view, not a copy
        return self.replace_unchecked(
            offsets=offsets,
            times=self.times[steps],
            values=self.values[steps],
            ids=self.ids[rows],
            static=self.static[rows],
            origins=None if self.origins is None else self.origins[rows],
            notes=(),
        )

    def blocks(self, samples: int = BLOCK) -> Iterator[tuple[slice, SeriesSet]]:
        """Yield all series in order, in blocks of neighbouring series: their positions, and the series.

        A computation block by block needs memory for one block only.

        Args:
            samples: largest number of samples in a block; a longer series is a block of its own.
        """
        return ((rows, self[rows]) for rows in neighbours(self.offsets, samples))

    def load(self) -> SeriesSet:
        """Return the set in memory: this set itself; see `StoredSet.load`."""
        return self

    def time_blocks(self, samples: int = 16 * BLOCK) -> Iterator[tuple[slice, npt.NDArray[np.float64]]]:
        """As `blocks`, but yield the positions of neighbouring series and the times of all their samples."""
        for rows in neighbours(self.offsets, samples):
            yield rows, self.times[self.offsets[rows.start] : self.offsets[rows.stop]]

    def ends(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return (S,) the times of the first and the last sample of each series; 0 for a series without samples."""
        first, last = np.zeros(len(self)), np.zeros(len(self))
        for rows, times in self.time_blocks():
            begin = self.offsets[rows.start : rows.stop] - self.offsets[rows.start]
            end = self.offsets[rows.start + 1 : rows.stop + 1] - self.offsets[rows.start]
            some = np.flatnonzero(end > begin)
            first[rows.start + some], last[rows.start + some] = times[begin[some]], times[end[some] - 1]
        return first, last

    def head(self, counts: Any) -> SeriesSet:
        """Return the first samples of each series.

        Args:
            counts: (S,) number of samples of each series, or one number for all. Shorter series are returned whole.
        """
        most = np.asarray(counts)
        if most.dtype.kind not in "iu" or most.shape not in ((), (len(self),)) or (most < 0).any():
            raise ValueError(
                f"`counts` must be a whole number or (S,) = ({len(self)},) of them, at least 0; got {counts!r}"
            )
        lengths = np.minimum(self.lengths, most)
        position = np.arange(len(self.times)) - np.repeat(self.offsets[:-1], self.lengths)
        inside = position < np.repeat(lengths, self.lengths)
        return self.replace_unchecked(
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            times=self.times[inside],
            values=self.values[inside],
        )

    def in_unit(self, unit: str) -> SeriesSet:
        """Return the set with its times in another unit."""
        check_unit(unit)
        if self.time_unit is None:
            raise ValueError(
                "the times cannot be converted to `unit`, as they have no unit. Read them again with `time_unit`."
            )
        if self.origins is not None and self.origins.dtype.kind != "M":
            raise ValueError(
                "the times cannot be converted to `unit`, as their origins are large whole numbers. Read them as time "
                "stamps."
            )
        factor = conversion(self.time_unit, unit)
        times = self.times * factor if factor >= 1 else self.times / conversion(unit, self.time_unit)
        return self.replace_unchecked(times=times, time_unit=unit)

    def arranged_as(
        self, channels: Sequence[str], static_names: Sequence[str], categories: Mapping[str, Sequence[str]]
    ) -> SeriesSet:
        """Return the set with other columns: new ones are NaN, and categories that are no longer known become -1.

        Args:
            channels: channels of the result, in order.
            static_names: static features of the result, in order.
            categories: categories of every categorical channel and static feature, of the result and of this set.
        """
        named = (*channels, *static_names)
        return self.replace_unchecked(
            values=arranged(self.values, self.channels, self.categories, channels, categories),
            static=arranged(self.static, self.static_names, self.categories, static_names, categories),
            channels=tuple(channels),
            static_names=tuple(static_names),
            categories={name: tuple(labels) for name, labels in categories.items() if name in named},
        )

    def write(self, folder: str | os.PathLike[str], *, replace: bool = False) -> StoredSet:
        """Write the set to a folder, which `lt.open_set` opens, and return it; samples are then read from the folder.

        Args:
            folder: the folder, which is written completely or not at all.
            replace: whether an existing stored set may be replaced.

        Raises:
            FileExistsError: the folder exists and must not be replaced.
            SaveFailed: the disk is full or cannot be written.

        """
        from liquidtime.data.stored import write_set

        return write_set(self, folder, replace=replace)

    def with_notes(self, notes: Sequence[Note]) -> SeriesSet:
        """Return the set with more notes after its own."""
        return self.replace_unchecked(notes=(*self.notes, *notes))

    def with_empty(self, ids: npt.NDArray[Any]) -> SeriesSet:
        """Return the set with more series at the end, without samples and known static features."""
        K, origins = len(ids), self.origins
        if origins is not None:
            nothing = np.datetime64("NaT") if origins.dtype.kind == "M" else 0
            origins = np.concatenate([origins, np.full(K, nothing, dtype=origins.dtype)])
        return replace(
            self,
            offsets=np.concatenate([self.offsets, np.full(K, self.offsets[-1])]),
            ids=np.concatenate([self.ids, ids]),
            static=np.concatenate([self.static, np.full((K, len(self.static_names)), np.nan, dtype=np.float32)]),
            origins=origins,
        )

    def to_polars(self, id: str = "id", time: str = "time") -> polars.DataFrame:
        """Return a polars frame with one row per sample; see `liquidtime.data.container.frames.to_polars`."""
        return to_polars(self, id, time)

    def to_pandas(self, id: str = "id", time: str = "time") -> Any:
        """Return a pandas frame with one row per sample; see `liquidtime.data.container.frames.to_polars`."""
        return to_pandas(self, id, time)

    def to_xarray(self) -> Any:
        """Return an xarray `Dataset` of padded arrays; see `liquidtime.data.container.frames.to_xarray`."""
        return to_xarray(self)

    def plot(self, ids: Sequence[Any] | None = None, channels: Sequence[str] | None = None) -> Any:
        """Return a matplotlib figure with one panel per channel; see `liquidtime.data.container.plots.plot_series`."""
        return plot_series(self, ids, channels)

    def describe(self) -> Description:
        """Return what is in the set: lengths, channels, intervals, spans and notes; `print` it."""
        return describe(self)

    def __repr__(self) -> str:
        lengths = self.lengths
        spread = f"{lengths.min()}…{lengths.max()} samples each, " if len(self) else ""
        unit = f" in {self.time_unit}" if self.time_unit else ""
        static = f", {len(self.static_names)} static" if self.static_names else ""
        changed = sum(note.kind != "kept" for note in self.notes)
        notes = f", repaired in {changed} ways (see .notes)" if changed else ""
        return (
            f"SeriesSet({len(self):,} series, {spread}{len(self.times):,} samples{unit}, "
            f"{len(self.channels)} channels{static}{notes})"
        )

    def _repr_html_(self) -> str:
        return series_set_html(self)

    def __array__(self, *args: Any, **kwargs: Any) -> npt.NDArray[Any]:
        raise TypeError("a SeriesSet is ragged and has no array; use .values (N, C), .times (N,) and .offsets (S + 1,)")

    def replace_unchecked(self, **fields: Any) -> SeriesSet:
        """Return a copy with some fields replaced, for callers that know that the new fields are valid.

        Nothing is checked or converted; `dataclasses.replace` checks everything, which means a pass over all samples.
        """
        copy = object.__new__(SeriesSet)
        copy.__dict__.update(self.__dict__ | fields)
        return copy


def neighbours(offsets: npt.NDArray[np.int64], samples: int) -> Iterator[slice]:
    """Yield consecutive slices of series that have at most `samples` samples together, or consist of one series."""
    low, S = 0, len(offsets) - 1
    while low < S:
        high = int(np.searchsorted(offsets, offsets[low] + samples, side="right")) - 1
        high = min(max(high, low + 1), S)
        yield slice(low, high)
        low = high


def flat_rows(offsets: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the positions, in the flat arrays, of all samples of these series, series after series."""
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    shift: npt.NDArray[np.int64] = np.repeat(offsets[rows] - (ends - lengths), lengths)
    shift += np.arange(total)
    return shift


def _check(data: SeriesSet) -> None:
    offsets, N, S, C = data.offsets, len(data.times), len(data), len(data.channels)
    if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != N or (np.diff(offsets) < 0).any():
        raise ValueError(f"`offsets` must go from 0 to N = {N} without decreasing; got {offsets}")
    if data.values.shape != (N, C):
        raise wrong_shape("values", "(N, C)", [N, C], data.values.shape, "One row per time, one column per channel.")
    if data.ids.shape != (S,):
        raise wrong_shape("ids", "(S,)", [S], data.ids.shape, "One id per series.")
    if len(np.unique(data.ids)) != S:
        raise ValueError("`ids` must be distinct; two series have the same id")
    if data.static.shape != (S, len(data.static_names)):
        raise wrong_shape("static", "(S, F)", [S, len(data.static_names)], data.static.shape)
    names = [*data.channels, *data.static_names]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`channels` and `static_names` must be distinct; {twice!r} occurs twice")
    check_unit(data.time_unit)
    _check_times(data)
    which: Literal["values", "static"]
    for which in ("values", "static"):
        matrix = getattr(data, which)
        if any(np.isinf(matrix[low : low + 2**15]).any() for low in range(0, len(matrix), 2**15)):
            raise ValueError(f"`{which}` must be finite, or NaN if not observed; some are infinite")
    for name, labels in data.categories.items():
        column = data.values[:, data.channels.index(name)] if name in data.channels else None
        if column is None:
            if name not in data.static_names:
                raise ValueError(f"`categories` must name channels or static features; {name!r} is neither")
            column = data.static[:, data.static_names.index(name)]
        known = column[~np.isnan(column)]
        if len(known) and not (known.min() >= 0 and known.max() < len(labels) and (known == np.floor(known)).all()):
            raise ValueError(f"`values` of the categorical {name!r} must be whole numbers in 0…{len(labels) - 1}")


def _check_times(data: SeriesSet) -> None:
    codes = np.repeat(np.arange(len(data)), data.lengths)
    with np.errstate(invalid="ignore"):
        backwards = np.diff(data.times, prepend=-np.inf) <= 0
    for bad, fault in ((~np.isfinite(data.times), "be finite"), (backwards, "increase strictly within a series")):
        if fault.startswith("increase"):
            starts = data.offsets[:-1][data.lengths > 0]
            bad[starts] = False
        if bad.any():
            row = int(np.argmax(bad))
            position = row - int(data.offsets[codes[row]])
            raise ValueError(
                f"`times` must {fault}; {int(bad.sum())} of {len(bad)} do not. The first is {data.times[row]} in "
                f"series {data.ids[codes[row]]} at position {position}."
            )
