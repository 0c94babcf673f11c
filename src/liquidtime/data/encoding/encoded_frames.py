"""Encoded series as a pandas or polars frame with one row per step, for `SeriesEncoder.set_output`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from liquidtime.data.encoding.encoder import Encoded

DEFAULT, PANDAS, POLARS = "default", "pandas", "polars"
OUTPUTS = (DEFAULT, PANDAS, POLARS)


def encoded_frame(encoded: Encoded, names: Sequence[str], kind: str) -> Any:
    """Return a frame with one row per step: its series, its time, the inputs and the static features.

    Args:
        encoded: the encoded series.
        names: names of the D inputs, followed by those of the F static features.
        kind: "pandas", with series and times in the index, in the form that estimators of this library take; or
            "polars", with the first columns "id" and "time".
    """
    table = np.concatenate([encoded.x, np.repeat(encoded.static, encoded.lengths, axis=0)], axis=1)
    ids = np.repeat(encoded.ids, encoded.lengths)
    if kind == PANDAS:
        import pandas  # type: ignore[import-untyped]

        index = pandas.MultiIndex.from_arrays([ids, encoded.times], names=["id", "time"])
        return pandas.DataFrame(table, index=index, columns=list(names))
    import polars

    columns = {"id": ids, "time": encoded.times, **dict(zip(names, table.T, strict=True))}
    return polars.DataFrame({name: np.ascontiguousarray(column) for name, column in columns.items()})
