"""Whatever a caller calls a table, opened: a data frame of any library, a file, a table that was read before."""

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
"""Columns that libraries write beside those of the user."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A table, ready to be taken apart.

    Args:
        frame: its columns.
        found: how it was written.
        notes: of reading it.
        added: columns that reading put there, which are no channels.
    """

    frame: Frame
    found: Mapping[str, str]
    notes: tuple[Note, ...]
    added: tuple[str, ...] = ()

    def channels(self, taken: Collection[str | None], findings: Findings) -> list[str]:
        """Return the columns that are channels where nobody names them; row numbers of other libraries are none.

        Args:
            taken: columns that are something else.
            findings: takes the note about what is left out.
        """
        rest = [name for name in self.frame.columns if name not in taken and name not in self.added]
        rows = [name for name in rest if _ROW_NUMBERS.match(name)]
        what = "columns that are row numbers of another library, or have no name, and so no channels"
        findings.add(Note("kept", what, len(rows), len(self.frame.columns), tuple(repr(name) for name in rows[:3])))
        return [name for name in rest if name not in rows]


def open_table(argument: str, source: Any, reading: Reading | None = None) -> Opened:
    """Return a table as a narwhals frame; refuse an empty one.

    Args:
        argument: what the caller calls it.
        source: any data frame or lazy frame, the path of a file (or what else `read_frame` takes), or a `Table`.
        reading: how a file is read.

    Raises:
        TypeError: something that is no table.
        ValueError: no rows, or two columns of one name.

    """
    reading = reading or Reading()
    table = read_table(source, reading) if is_source(source) else source
    if isinstance(table, Table):
        found, notes, added = table.found, table.notes, table.added
        frame: Any = table.frame
    else:
        for name in ("separator", "encoding", "sheet", "query"):
            if getattr(reading, name) is not None:
                raise ValueError(f"`{name}` is for files; `{argument}` is a data frame. Leave it out.")
        if type(table).__module__.startswith("pyarrow") and hasattr(table, "to_table"):
            table = table.to_table()  # a dataset
        frame, found, notes, added = _with_index(argument, table), {}, (), ()
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
    return Opened(eager, found, notes, added)


def _with_index(argument: str, frame: Any) -> Any:
    """Return a pandas frame with the named levels of its index as columns; any other frame as it is."""
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
    """Return a pandas frame of series and times in its index, as columns, with their names; None for any other."""
    if not nw.dependencies.is_pandas_dataframe(frame) or frame.index.nlevels != 2:
        return None
    index = frame.index
    names = [name if name is not None else fallback for name, fallback in zip(index.names, ("id", "time"), strict=True)]
    return frame.rename_axis(index=names), str(names[0]), str(names[1])


def differences(found: Mapping[str, str], usual: Mapping[str, str] | None, rows: int) -> list[Note]:
    """Return what was found to be otherwise than in an earlier table, as notes.

    Args:
        found: in this table.
        usual: in the earlier one.
        rows: of this table.
    """
    notes = []
    for name, words in (
        ("separator", "rows separated by {new}, those of training by {old}"),
        ("decimal", "rows with the decimal mark {new}, those of training with {old}"),
        ("encoding", "rows encoded in {new}, those of training in {old}"),
        ("time_format", "times written as {new}, those of training as {old}"),
        ("time_zone", "times with the time zone {new}, those of training with {old}"),
    ):
        new, old = found.get(name), (usual or {}).get(name)
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
