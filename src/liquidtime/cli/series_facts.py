"""Facts about each series besides its measurements: its group, weight and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

    from liquidtime.data import SeriesSet


def check_fact(option: str, column: str, tables: Sequence[polars.DataFrame]) -> None:
    """Refuse a column that no table has.

    Args:
        option: the option that names the column.
        column: name of the column.
        tables: all tables.

    Raises:
        ValueError: no table has the column.

    """
    from liquidtime.errors import nearest

    names = [name for table in tables for name in table.columns]
    if column not in names:
        raise ValueError(f"{option} {column!r} is not a column of any table{nearest(column, names) or '.'}")


def fact_of_series(
    option: str, column: str, data: SeriesSet, tables: Sequence[tuple[polars.DataFrame, str]]
) -> list[Any]:
    """Return one value per series, in the order of the set, from the first table that has the column.

    Args:
        option: the option that names the column, for errors.
        column: name of the column.
        data: the series.
        tables: the tables, each with the name of its id column.

    Raises:
        ValueError: no table has the column, or a series has several values or none.

    """
    import polars

    check_fact(option, column, [table for table, _ in tables])
    table, id = next((table, id) for table, id in tables if column in table.columns)
    pairs = table.select(polars.col(id).cast(polars.String).alias("id"), polars.col(column).alias("fact"))
    pairs = pairs.drop_nulls().unique(maintain_order=True)
    twice = pairs.group_by("id", maintain_order=True).len().filter(polars.col("len") > 1)
    if len(twice):
        raise ValueError(
            f"{option} {column!r} must have one value per series; {len(twice):,} series have several, the first is "
            f"{twice['id'][0]}"
        )
    facts = dict(zip(pairs["id"].to_list(), pairs["fact"].to_list(), strict=True))
    ids = [str(one) for one in data.ids.tolist()]
    without = [one for one in ids if one not in facts]
    if without:
        raise ValueError(
            f"{option} {column!r} must have a value for every series; {len(without):,} of {len(ids):,} have none, the "
            f"first is {without[0]}"
        )
    return [facts[one] for one in ids]
