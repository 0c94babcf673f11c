"""Stored sets in the place of tables of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Reading, Table
    from liquidtime.scoring.reading_options import ReadingOptions


def measurements(data: Sequence[str | Path], reading: Reading, id: str) -> Table:
    """Return the table of measurements; of a stored set a table with one row per series, beside the set itself.

    Args:
        data: where it is.
        reading: how files are read.
        id: what the column of ids is called.
    """
    import polars

    from liquidtime.data.reading import Table, read_table

    stored = stored_set(data)
    if stored is None:
        return read_table(data, reading)
    columns: dict[str, Any] = {id: stored.ids}
    for place, name in enumerate(stored.static_names):
        labels, values = stored.categories.get(name), stored.static[:, place]
        told = values if labels is None else [None if code != code else labels[int(code)] for code in values.tolist()]
        columns[name] = polars.Series(name, told, nan_to_null=True) if labels is None else polars.Series(name, told)
    return Table(polars.DataFrame(columns), stored.reading, stored.notes, stored=stored)


def stored_set(data: Sequence[str | Path]) -> Any:
    """Return the stored set that was named, opened; None for any other table.

    Raises:
        ValueError: several things were named, one of them a stored set.

    """
    from liquidtime.data.stored import is_stored, open_set

    found = [source for source in data if is_stored(source)]
    if found and len(data) > 1:
        raise ValueError(f"{found[0]} is a stored set, which is read alone; {len(data)} things were named")
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
