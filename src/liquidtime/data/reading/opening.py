"""Open tables: data frames of any library, files, and tables that were read before."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from liquidtime.data.container import Findings, Note
from liquidtime.data.reading.columns import Frame, listed
from liquidtime.data.reading.files import Table, is_source, read_table
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.separators import NAMES
from liquidtime.data.reading.time_texts import order_of

_ROW_NUMBERS = re.compile(r"^(?:__index_level_\d+__|Unnamed: \d+|)$")
"""Names of columns that libraries add to those of the user."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A table as a narwhals frame, with the formats that were detected.

    Args:
        frame: its columns.
        formats: detected formats.
        notes: notes from reading it.
        added: columns that were added while reading and are not channels.
    """

    frame: Frame
    formats: Mapping[str, str]
    notes: tuple[Note, ...]
    added: tuple[str, ...] = ()

    def channels(self, others: Collection[str | None], findings: Findings) -> list[str]:
        """Return the columns that are channels if the caller names none; leave out row numbers of other libraries.

        Args:
            others: columns that are something else.
            findings: collects the note about columns that are left out.
        """
        rest = [name for name in self.frame.columns if name not in others and name not in self.added]
        rows = [name for name in rest if _ROW_NUMBERS.match(name)]
        what = "columns have no name or are row numbers of another library, and are not used as channels"
        findings.add(Note("kept", what, len(rows), len(self.frame.columns), tuple(repr(name) for name in rows[:3])))
        return [name for name in rest if name not in rows]


def open_table(argument: str, source: Any, reading: Reading | None = None) -> Opened:
    """Return a table as a narwhals frame; refuse an empty one.

    Args:
        argument: name of the argument, for errors.
        source: any data frame or lazy frame, the path of a file (or anything else for `read_frame`), or a `Table`.
        reading: options for reading a file.

    Raises:
        TypeError: `source` is not a table.
        ValueError: there are no rows, or two columns have the same name.

    """
    reading = reading or Reading()
    table = read_table(source, reading) if is_source(source) else source
    if isinstance(table, Table):
        formats, notes, added = table.formats, table.notes, table.added
        frame: Any = table.frame
    else:
        for name in ("separator", "encoding", "sheet", "query"):
            if getattr(reading, name) is not None:
                raise ValueError(f"`{name}` is for files; `{argument}` is a data frame. Leave it out.")
        if type(table).__module__.startswith("pyarrow") and hasattr(table, "to_table"):
            table = table.to_table()  # a dataset
        frame, formats, notes, added = _with_index(argument, table), {}, (), ()
    try:
        known = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"`{argument}` must be a data frame (pandas, polars, pyarrow, …) or the path of a file; got "
            f"{type(source).__name__}. For arrays use SeriesSet.from_arrays."
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    if not isinstance(eager, nw.DataFrame):
        raise TypeError(f"`{argument}` must be a data frame; got a single column ({type(source).__name__})")
    if len(eager) == 0:
        raise ValueError(f"`{argument}` must have rows; got an empty frame with columns {listed(eager.columns)}")
    return Opened(eager, formats, notes, added)


def _with_index(argument: str, frame: Any) -> Any:
    """Return a pandas frame with the named levels of its index as columns; return any other frame unchanged."""
    if not nw.dependencies.is_pandas_dataframe(frame):
        return frame
    index, columns = frame.index, frame.columns
    if columns.nlevels > 1:
        raise ValueError(
            f"`{argument}` must have one level of column names; got {columns.nlevels}. Join them into one."
        )
    if not columns.is_unique:
        twice = columns[columns.duplicated()][0]
        raise ValueError(f"`{argument}` has several columns called {twice!r}; names must be distinct")
    frame = frame.rename(columns=str) if any(not isinstance(name, str) for name in columns) else frame
    levels = [name for name in index.names if name is not None and str(name) not in frame.columns]
    frame = frame.reset_index(level=levels) if levels else frame
    periods = [name for name, kind in frame.dtypes.items() if str(kind).startswith("period[")]
    return frame.assign(**{name: frame[name].dt.to_timestamp() for name in periods})  # a month is its first instant


def index_levels(frame: Any) -> tuple[Any, str, str] | None:
    """Return a pandas frame with series and times from its index as columns, and their names; None for other frames."""
    if not nw.dependencies.is_pandas_dataframe(frame) or frame.index.nlevels != 2:
        return None
    index = frame.index
    names = [name if name is not None else fallback for name, fallback in zip(index.names, ("id", "time"), strict=True)]
    return frame.rename_axis(index=names), str(names[0]), str(names[1])


def differences(formats: Mapping[str, str], usual: Mapping[str, str] | None, rows: int) -> list[Note]:
    """Return notes about formats that differ from those of an earlier table.

    Args:
        formats: formats of this table.
        usual: formats of the earlier table.
        rows: number of rows of this table.
    """
    notes = []
    for name, words in (
        ("separator", "rows are separated by {new}, those of training by {old}"),
        ("decimal", "rows have the decimal mark {new}, those of training {old}"),
        ("encoding", "rows are encoded in {new}, those of training in {old}"),
        ("time_format", "times are written as {new}, those of training as {old}"),
        ("time_zone", "times have the time zone {new}, those of training {old}"),
    ):
        new, old = formats.get(name), (usual or {}).get(name)
        if new is None or old is None or new == old or _alike(name, new, old):
            continue
        names = NAMES if name == "separator" else {}
        what = words.format(new=names.get(new, new), old=names.get(old, old))
        notes.append(Note("kept", what, rows, rows))
    return notes


def _alike(name: str, new: str, old: str) -> bool:
    return name == "time_format" and order_of(new) is not None and order_of(new) == order_of(old)


def add_all(findings: Findings, notes: Sequence[Note]) -> None:
    """Record several notes."""
    for note in notes:
        findings.add(note)
