"""Tables of measurements, stored sets that replace them, and tables of a single series."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Reading, Table
    from liquidtime.scoring.columns import Columns
    from liquidtime.scoring.reading_options import ReadingOptions

ONE_SERIES = "series"
"""The default column of ids; a table that has no such column is one series."""


def measurements(data: Sequence[str | Path], reading: Reading, columns: Columns) -> Table:
    """Return the table of measurements; for a stored set, a table with one row per series together with the set itself.

    Args:
        data: paths of the data.
        reading: how files are read.
        columns: meaning of its columns.
    """
    import polars

    from liquidtime.data.reading import Table, read_table

    stored = stored_set(data)
    if stored is None:
        return _with_ids(read_table(data, reading), columns)
    told_of: dict[str, Any] = {columns.id: stored.ids}
    for place, name in enumerate(stored.static_names):
        labels, values = stored.categories.get(name), stored.static[:, place]
        told = values if labels is None else [None if code != code else labels[int(code)] for code in values.tolist()]
        told_of[name] = polars.Series(name, told, nan_to_null=True) if labels is None else polars.Series(name, told)
    return Table(polars.DataFrame(told_of), stored.reading, stored.notes, stored=stored)


def _with_ids(table: Table, columns: Columns) -> Table:
    """Return a table with a column of ids: if none was named and there is none, all rows belong to one series.

    Raises:
        ValueError: several rows have the same time, as would those of several series.

    """
    import polars

    frame = table.frame
    if columns.id != ONE_SERIES or ONE_SERIES in frame.columns:
        return table
    keys = [name for name in (columns.time, columns.channel) if name in frame.columns]
    repeated = frame.height - frame.select(keys).n_unique() if keys else 0
    if repeated:
        raise ValueError(
            f"the table must have one row per time to be read as one series; {repeated:,} rows repeat a time of "
            f"{columns.time!r}. If it has several series, pass the column of their ids with --id."
        )
    return dataclasses.replace(table, frame=frame.with_columns(polars.lit("1").alias(ONE_SERIES)))


def stored_set(data: Sequence[str | Path]) -> Any:
    """Return the named stored set, opened; None for any other table.

    Raises:
        ValueError: several sources were named, one of them a stored set.

    """
    from liquidtime.data.stored import is_stored, open_set

    sets = [source for source in data if is_stored(source)]
    if sets and len(data) > 1:
        raise ValueError(f"{sets[0]} is a stored set, which must be the only source; got {len(data)} sources")
    return open_set(sets[0]) if sets else None


def without(stored: SeriesSet, leave: Sequence[str | None], options: ReadingOptions) -> SeriesSet:
    """Return a stored set without some of its columns, such as the target among its static features.

    Raises:
        ValueError: a table of static features was passed, which must be packed with the set instead.

    """
    if options.static_table is not None:
        raise ValueError("--static-table is for tables; a stored set has its own static features. Pack it again.")
    channels = tuple(name for name in stored.channels if name not in leave)
    static = tuple(name for name in stored.static_names if name not in leave)
    if (channels, static) == (stored.channels, stored.static_names):
        return stored
    return stored.arranged_as(channels, static, dict(stored.categories))
