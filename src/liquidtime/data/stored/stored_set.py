"""A set of series whose samples stay on disk until they are needed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Series, SeriesSet, arranged, neighbours
from liquidtime.data.container.series_set import BLOCK
from liquidtime.data.stored.array_files import ArrayFile

IN_MEMORY = 2**26
"""Largest part of a stored set, in bytes of samples, that is read into memory; a larger part stays on disk."""

Change = Callable[[SeriesSet], SeriesSet]
"""A change that is applied to every part that is read, such as another order of channels; it can be pickled."""


@dataclass(frozen=True, eq=False)
class Source:
    """The samples of a folder.

    Args:
        path: the folder.
        offsets: (S + 1,) start of each series.
        times: (N,) times.
        values: (N, C) values.
        columns: meaning of the columns of the table that the set was read from; None if there was no table.
    """

    path: Path
    offsets: npt.NDArray[np.int64]
    times: ArrayFile
    values: ArrayFile
    columns: Mapping[str, Any] | None = None

    def read(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float32]]:
        """Return the times and values of series, one after the other; neighbouring series are read at once."""
        return self.read_times(rows), self._gathered(self.values, rows)

    def read_times(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the times of series, one after the other."""
        return self._gathered(self.times, rows)

    def _gathered(self, file: ArrayFile, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        ends = np.cumsum(lengths)
        gathered = np.empty((int(ends[-1]) if len(ends) else 0, *file.shape[1:]), dtype=file.dtype)
        cuts = np.flatnonzero(np.diff(rows, prepend=-2) != 1) if len(rows) else np.empty(0, dtype=np.int64)
        for first, last in itertools.pairwise((*cuts.tolist(), len(rows))):
            place = slice(int(ends[first] - lengths[first]), int(ends[last - 1]))
            file.read_into(int(self.offsets[rows[first]]), gathered[place])
        return gathered


class StoredSet(SeriesSet):
    """A set of series in a folder, made by `SeriesSet.write` or `from_long(..., out=...)` and opened by `open_set`.

    It is a `SeriesSet` whose offsets, ids and static features are in memory, and whose times and values are on disk. An
    index that selects up to 64 MB reads them and returns a set in memory; a larger part is again a `StoredSet`. The
    arrays `times` and `values` of the whole set are mapped into memory, those of a part are read; `blocks` reads the
    set in blocks.
    """

    _source: Source
    _root: StoredSet
    _rows: npt.NDArray[np.int64] | None
    _changes: tuple[Change, ...]

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("a StoredSet is opened with lt.open_set(folder); its .load() is a set in memory")

    @staticmethod
    def of(source: Source, **fields: Any) -> StoredSet:
        """Return the set of a folder; `fields` are those of `SeriesSet` except times and values, already checked."""
        stored = object.__new__(StoredSet)
        stored.__dict__.update(fields, offsets=source.offsets, _source=source, _rows=None, _changes=())
        return stored

    def _with(self, **fields: Any) -> StoredSet:
        stored = object.__new__(StoredSet)
        stored.__dict__.update(self.__dict__ | {"_root": self._of_folder} | fields)
        return stored

    @property
    def _of_folder(self) -> StoredSet:
        """The whole set, as it is in the folder."""
        root: StoredSet = self.__dict__.get("_root", self)
        return root

    @property
    def path(self) -> Path:
        """The folder."""
        return self._source.path

    @property
    def columns(self) -> Mapping[str, Any] | None:
        """Meaning of the columns of the table that the set was read from, by argument of `from_long` or `from_wide`."""
        return self._source.columns

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """(N,) times of all samples."""
        if self._rows is None and not self._changes:
            return self._source.times.mapped()
        return np.concatenate([np.empty(0), *(part.times for _, part in self.blocks())])

    @property
    def values(self) -> npt.NDArray[np.float32]:
        """(N, C) values of all samples."""
        if self._rows is None and not self._changes:
            return self._source.values.mapped()
        whole = np.empty((int(self.offsets[-1]), len(self.channels)), dtype=np.float32)
        for rows, part in self.blocks():
            whole[self.offsets[rows.start] : self.offsets[rows.stop]] = part.values
        return whole

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes, on disk and in memory."""
        arrays = (self.offsets, self.ids, self.static, *(() if self.origins is None else (self.origins,)))
        return int(self.offsets[-1]) * self._width + sum(int(array.nbytes) for array in arrays)

    @property
    def _width(self) -> int:
        """Size of a sample in bytes."""
        return 8 + 4 * len(self.channels)

    def load(self) -> SeriesSet:
        """Return the same set in memory."""
        return self._in_memory({}, self._places(np.arange(len(self))))

    def blocks(self, samples: int = BLOCK) -> Iterator[tuple[slice, SeriesSet]]:
        """Yield all series in order, in blocks that are read into memory; see `SeriesSet.blocks`."""
        for rows in neighbours(self.offsets, samples):
            chosen = np.arange(rows.start, rows.stop)
            offsets = self.offsets[rows.start : rows.stop + 1] - self.offsets[rows.start]
            yield rows, self._in_memory(self._fields(chosen, offsets), self._places(chosen))

    def time_blocks(self, samples: int = 16 * BLOCK) -> Iterator[tuple[slice, npt.NDArray[np.float64]]]:
        """Yield the times of neighbouring series without reading values; see `SeriesSet.time_blocks`."""
        units = [change for change in self._changes if isinstance(change, InUnit)]
        for rows in neighbours(self.offsets, samples):
            times = self._source.read_times(self._places(np.arange(rows.start, rows.stop)))
            unit = self._of_folder.time_unit
            for change in units:
                times, unit = change.of_times(times, unit), change.unit
            yield rows, times

    def _one(self, position: int) -> Series:
        S = len(self)
        if not -S <= position < S:
            return super()._one(position)
        row = np.array([position % S])
        offsets = np.array([0, self.offsets[row[0] + 1] - self.offsets[row[0]]])
        return self._in_memory(self._fields(row, offsets), self._places(row))[0]

    def _taken(self, rows: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]) -> SeriesSet:
        fields, places = self._fields(rows, offsets), self._places(rows)
        if int(offsets[-1]) * self._width <= IN_MEMORY:
            return self._in_memory(fields, places)
        return self._with(**fields, _rows=places)

    def _places(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the positions of series in the folder."""
        return rows if self._rows is None else self._rows[rows]

    def _fields(self, rows: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]) -> dict[str, Any]:
        """Return the fields of series, apart from times and values."""
        origins = None if self.origins is None else self.origins[rows]
        own = {"offsets": offsets, "ids": self.ids[rows], "static": self.static[rows], "origins": origins}
        return own | {"notes": ()}

    def _in_memory(self, fields: dict[str, Any], rows: npt.NDArray[np.int64]) -> SeriesSet:
        """Return series of the folder with all changes applied; `fields` are those of the result where they differ."""
        root, own = self._of_folder, {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
        offsets = np.concatenate([[0], np.cumsum(self._source.offsets[rows + 1] - self._source.offsets[rows])])
        part = object.__new__(SeriesSet)
        part.__dict__.update({name: value for name, value in root.__dict__.items() if not name.startswith("_")})
        part.__dict__.update(zip(("times", "values"), self._source.read(rows), strict=True))
        part.__dict__.update(offsets=offsets.astype(np.int64), ids=root.ids[rows], static=root.static[rows])
        for change in self._changes:
            part = change(part)
        part.__dict__.update(own | {"offsets": part.offsets} | fields)
        return part

    def arranged_as(
        self, channels: Sequence[str], static_names: Sequence[str], categories: Mapping[str, Sequence[str]]
    ) -> StoredSet:
        """As `SeriesSet.arranged_as`; the columns are arranged when a part is read."""
        named = (*channels, *static_names)
        kept = {name: tuple(labels) for name, labels in categories.items() if name in named}
        same = (self.channels, self.static_names, dict(self.categories)) == (tuple(channels), tuple(static_names), kept)
        change = Arrange(tuple(channels), tuple(static_names), {name: tuple(own) for name, own in categories.items()})
        return (
            self
            if same
            else self._with(
                channels=tuple(channels),
                static_names=tuple(static_names),
                categories=kept,
                static=arranged(self.static, self.static_names, self.categories, static_names, categories),
                _changes=(*self._changes, change),
            )
        )

    def in_unit(self, unit: str) -> SeriesSet:
        """Return the set with its times in another unit; they are converted when a part is read."""
        self[:0].in_unit(unit)  # refuses impossible conversions
        return self._with(time_unit=unit, _changes=(*self._changes, InUnit(unit)))

    def head(self, counts: Any) -> SeriesSet:
        """Return the first samples of each series, in memory; see `SeriesSet.head`."""
        return self.load().head(counts)

    def with_empty(self, ids: npt.NDArray[Any]) -> SeriesSet:
        """Return the set with more series, in memory; see `SeriesSet.with_empty`."""
        return self.load().with_empty(ids) if len(ids) else self

    def replace_unchecked(self, **fields: Any) -> SeriesSet:
        """Return a copy with some fields replaced; it is in memory if these are fields of the samples."""
        if fields.keys() & {"offsets", "times", "values", "channels", "static_names", "categories", "time_unit"}:
            return self.load().replace_unchecked(**fields)
        return self._with(**fields)

    def __reduce__(self) -> Any:
        return _restored, (self.__dict__ | {"_root": self._of_folder if self._of_folder is not self else None},)


@dataclass(frozen=True)
class Arrange:
    """The change that `StoredSet.arranged_as` makes, with the same arguments."""

    channels: tuple[str, ...]
    static_names: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]

    def __call__(self, part: SeriesSet) -> SeriesSet:
        """Return a part with the columns arranged."""
        return part.arranged_as(self.channels, self.static_names, self.categories)


@dataclass(frozen=True)
class InUnit:
    """The change that `StoredSet.in_unit` makes."""

    unit: str

    def __call__(self, part: SeriesSet) -> SeriesSet:
        """Return a part with its times in the new unit."""
        return part.in_unit(self.unit)

    def of_times(self, times: npt.NDArray[np.float64], unit: str | None) -> npt.NDArray[np.float64]:
        """Return times, converted to the new unit."""
        offsets = np.array([0, len(times)])
        alone = SeriesSet(offsets[:1], np.empty(0), np.empty((0, 0), dtype=np.float32), (), time_unit=unit)
        return alone.replace_unchecked(offsets=offsets, times=times).in_unit(self.unit).times


def _restored(fields: dict[str, Any]) -> StoredSet:
    stored = object.__new__(StoredSet)
    stored.__dict__.update({name: value for name, value in fields.items() if name != "_root" or value is not None})
    return stored
