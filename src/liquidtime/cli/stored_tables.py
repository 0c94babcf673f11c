"""Stored sets in the place of tables of measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.cli.columns import Columns

if TYPE_CHECKING:
    from liquidtime.cli.reading_options import ReadingOptions
    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Reading, Table


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


def columns_of_training(data: Sequence[str | Path], **named: Any) -> Columns:
    """Return what columns mean: as typed, or of a stored set as it was packed.

    Args:
        data: where the measurements are.
        **named: arguments of `Columns`, None and () where nothing was typed.

    Raises:
        ValueError: no --id or --time for a table, or options that a stored set does not take.

    """
    from liquidtime.data.stored import is_stored, open_set

    if not (len(data) == 1 and is_stored(data[0])):
        for name in ("id", "time"):
            if named[name] is None:
                raise ValueError(f"--{name} must name a column of DATA; only a stored set needs none")
        return Columns(**named)
    for name, value in named.items():
        if value is not None and value != ():
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is for tables; {data[0]} is a stored set, packed before. Leave it out.")
    packed = open_set(data[0], verify=False).columns
    return Columns.from_dict(packed) if packed else Columns("id", "time")


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


def refuse_stored(table: Table) -> None:
    """Refuse a stored set where the target is of every sample."""
    if table.stored is not None:
        raise ValueError("classes of samples are read from the table of measurements itself; DATA is a stored set")


def check_targets(table: Table, names: Sequence[str]) -> None:
    """Refuse targets that a stored set does not have among its static features."""
    if table.stored is None:
        return
    for name in names:
        if name not in table.stored.static_names:
            raise ValueError(
                f"--target {name!r} is no static feature of the stored set. Give --labels, or pack it with --static "
                f"{name}."
            )
