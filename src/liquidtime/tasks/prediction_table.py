"""Predictions as a table, one row per series or per prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import polars

Columns: TypeAlias = Mapping[str, Any]
"""Columns of equal length by name; the one named "" has the ids."""


def prediction_table(id: str, columns: Columns) -> polars.DataFrame:
    """Return a table with the ids in the first column.

    Args:
        id: name of the id column.
        columns: columns, with the ids under "".

    Raises:
        ValueError: another column has the name of the id column.

    """
    import polars

    if id in columns and id != "":
        raise ValueError(f"the id column {id!r} has the name of a column of predictions; rename it")
    named = {id if name == "" else name: column for name, column in columns.items()}
    stamps = {
        name
        for name, column in named.items()
        if isinstance(column, polars.Series) or getattr(column, "dtype", np.dtype(object)).kind == "M"
    }
    return polars.DataFrame(
        {name: polars.Series(name, column if name in stamps else list(column)) for name, column in named.items()}
    )
