"""Stored sets on the command line: which options they supply, and which they do not allow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.cli.columns import Columns
from liquidtime.scoring.stored_tables import ONE_SERIES

if TYPE_CHECKING:
    from liquidtime.data.reading import Table


def columns_of_training(data: Sequence[str | Path], one_series: bool, **options: Any) -> Columns:
    """Return the meaning of columns, from the options or, for a stored set, as it was packed.

    Args:
        data: files or database with the measurements.
        one_series: whether a single one can be trained on, so that a table needs no column of ids.
        **options: arguments of `Columns`; None and () for options that were not given.

    Raises:
        ValueError: --id or --time is missing for a table, or an option is not for stored sets.

    """
    from liquidtime.data.stored import is_stored, open_set

    if not (len(data) == 1 and is_stored(data[0])):
        if one_series and options["id"] is None:
            options["id"] = ONE_SERIES
        for name in ("id", "time"):
            if options[name] is None:
                exception = "a stored set, or one series to forecast or impute" if name == "id" else "a stored set"
                raise ValueError(f"--{name} must name a column of DATA, unless DATA is {exception}")
        return Columns(**options)
    for name, value in options.items():
        if value is not None and value != ():
            option = "--" + name.replace("_", "-")
            raise ValueError(f"{option} is for tables, and {data[0]} is a stored set. Leave {option} out.")
    packed = open_set(data[0], verify=False).columns
    return Columns.from_dict(packed) if packed else Columns("id", "time")


def refuse_stored(table: Table) -> None:
    """Refuse a stored set if every sample has a class."""
    if table.stored is not None:
        raise ValueError("to classify samples, DATA must be a table of measurements; it is a stored set")


def check_targets(table: Table, names: Sequence[str]) -> None:
    """Refuse targets that a stored set does not have among its static features."""
    if table.stored is None:
        return
    for name in names:
        if name not in table.stored.static_names:
            raise ValueError(
                f"--target {name!r} is not a static feature of the stored set. Give --labels, or pack the set again "
                "with "
                f"--static {name}."
            )
