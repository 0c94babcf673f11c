"""Labels in a column of the table of measurements."""

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
    """Return one label per series from a table of measurements that repeats it in each row.

    Args:
        frame: the table.
        columns: the meaning of its columns.
        target: name of the column with labels.
        auxiliary: names of the columns with auxiliary targets.
        missing: words that mean that there is no label.

    Raises:
        ValueError: a column does not exist, or has several values in one series.

    """
    import narwhals as nw
    import polars

    from liquidtime.data.reading.columns import check_column
    from liquidtime.data.reading.missing_words import known_labels

    check_column(nw.from_native(frame), "--id", columns.id)
    labels = None
    for argument, name in (("--target", target), *(("--auxiliary", name) for name in auxiliary)):
        check_column(nw.from_native(frame), argument, name)
        frame = frame.with_columns(known_labels(frame[name], missing))
        pairs = frame.select(columns.id, name).drop_nulls().unique(maintain_order=True)
        twice = pairs.group_by(columns.id).len().filter(polars.col("len") > 1).sort(columns.id)
        if len(twice):
            raise ValueError(
                f"{argument} {name!r} must have one value per series; {len(twice)} series have several, the first is "
                f"{twice[columns.id][0]}. Give the labels as a table of their own with --labels."
            )
        labels = pairs if labels is None else labels.join(pairs, on=columns.id, how="left", maintain_order="left")
    assert labels is not None
    return labels


def with_numbers(
    frame: polars.DataFrame, target: str, task: str, decimal: str | None, missing: Sequence[float | str] = ()
) -> polars.DataFrame:
    """Return a table of labels whose target is numbers, if the task is regression and it has numbers as text.

    Args:
        frame: the table.
        target: name of the column with labels.
        task: name of the task.
        decimal: decimal mark; None to find it in the column.
        missing: words that mean that there is no label.

    Raises:
        ValueError: texts that are not numbers, or that could be several numbers.

    """
    import polars

    from liquidtime.data.reading.number_texts import read_numbers, stripped

    if task != "regress" or target not in frame.columns or frame[target].dtype != polars.String:
        return frame
    words = stripped(frame[target])
    result = read_numbers(target, words, decimal, missing)
    if result.bad.any():
        row = int(result.bad.arg_max() or 0)
        raise ValueError(
            f"--target {target!r} must be numbers for regression; {int(result.bad.sum()):,} of {len(words):,} labels "
            "are "
            f"not, the first is {words[row]!r} in row {row}. Correct them, list them in --missing if there is no "
            "label, "
            "or choose --task classify."
        )
    return frame.with_columns(result.values.alias(target))
