"""Labels that stand beside the measurements of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from liquidtime.scoring.columns import Columns as Columns

if TYPE_CHECKING:
    import polars


def labels_of(
    frame: polars.DataFrame,
    columns: Columns,
    target: str,
    auxiliary: Sequence[str] = (),
    missing: Sequence[float | str] = (),
) -> polars.DataFrame:
    """Return one label per series from a table of measurements in which it stands beside each row.

    Args:
        frame: the table.
        columns: what its columns mean.
        target: the column of labels.
        auxiliary: columns of further outcomes, which are kept beside it.
        missing: words that mean that there is no label.

    Raises:
        ValueError: a column is not there, or has several values in one series.

    """
    import narwhals as nw
    import polars

    from liquidtime.data.reading.columns import check_column
    from liquidtime.data.reading.missing_words import known_labels

    check_column(nw.from_native(frame), "--id", columns.id)
    found = None
    for argument, name in (("--target", target), *(("--auxiliary", name) for name in auxiliary)):
        check_column(nw.from_native(frame), argument, name)
        frame = frame.with_columns(known_labels(frame[name], missing))
        pairs = frame.select(columns.id, name).drop_nulls().unique(maintain_order=True)
        twice = pairs.group_by(columns.id).len().filter(polars.col("len") > 1).sort(columns.id)
        if len(twice):
            raise ValueError(
                f"{argument} {name!r} must be one value per series; {len(twice)} series have several, the first is "
                f"{twice[columns.id][0]}. Give the labels as a table of their own with --labels."
            )
        found = pairs if found is None else found.join(pairs, on=columns.id, how="left", maintain_order="left")
    assert found is not None
    return found
