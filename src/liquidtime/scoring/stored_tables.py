"""Tables of measurements, stored sets in their place, and tables that are one series."""

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
"""The column of ids where none was named; a table that has no such column is one series."""


def measurements(data: Sequence[str | Path], reading: Reading, columns: Columns) -> Table:
    """Return the table of measurements; of a stored set a table with one row per series, beside the set itself.

    Args:
        data: where it is.
        reading: how files are read.
        columns: what its columns mean.
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
    """Return a table with a column of ids: where none was named and there is none, all rows are of one series.

    Raises:
        ValueError: such rows that are several at one time, as those of several series would be.

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
            f"{columns.time!r}. If it has several series, name the column of their ids with --id."
        )
    return dataclasses.replace(table, frame=frame.with_columns(polars.lit("1").alias(ONE_SERIES)))


def stored_set(data: Sequence[str | Path]) -> Any:
    """Return the stored set that was named, opened; None for any other table.

    Raises:
        ValueError: several things were named, one of them a stored set.

    """
    from liquidtime.data.stored import is_stored, open_set

    found = [source for source in data if is_stored(source)]
    if found and len(data) > 1:
        raise ValueError(f"{found[0]} is a stored set, which must be the only source; {len(data)} were named")
    return open_set(found[0]) if found else None


def without(stored: SeriesSet, leave: Sequence[str | None], options: ReadingOptions) -> SeriesSet:
    """Return a stored set without some of its columns, such as the target among its static features.

    Raises:
        ValueError: a table of static features, which is packed with the set.

    """
    if options.static_table is not None:
        raise ValueError("--static-table is for tables; a stored set has its static features. Pack it again with them.")
    channels = tuple(name for name in stored.channels if name not in leave)
    static = tuple(name for name in stored.static_names if name not in leave)
    if (channels, static) == (stored.channels, stored.static_names):
        return stored
    return stored.arranged_as(channels, static, dict(stored.categories))
