"""Targets that vary within a series: one class per sample, read together with the measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import polars

    from liquidtime.cli.columns import Columns
    from liquidtime.data import SeriesSet


@dataclass(frozen=True)
class SampleTarget:
    """A table of measurements with the target as one more channel, whose numbers stand for the classes.

    So classes stay with their samples whatever is repaired, sorted or merged while reading.

    Args:
        frame: the table.
        columns: the meaning of its columns.
        target: name of the channel.
        classes: the classes for which the numbers 0, 1, … of the channel stand.
    """

    frame: polars.DataFrame
    columns: Columns
    target: str
    classes: list[Any]

    def split(self, data: SeriesSet) -> tuple[SeriesSet, list[np.ndarray[Any, Any]]]:
        """Return the series without the channel, and one array of classes per series, with None if not known.

        Args:
            data: series read from the table, with the target as a channel.

        Raises:
            ValueError: a series has several classes at one time.

        """
        place = data.channels.index(self.target)
        codes = data.values[:, place].astype(np.float64)
        known = ~np.isnan(codes)
        mixed = known & (codes != np.round(codes))
        if mixed.any():
            row = int(mixed.argmax())
            series = int(np.searchsorted(data.offsets, row, side="right")) - 1
            raise ValueError(
                f"--target {self.target!r} must have one class per time; {int(mixed.sum()):,} times have several, the "
                f"first is time {data.times[row]:g} of series {data.ids[series]}"
            )
        labels = np.full(len(codes), None, dtype=object)
        labels[known] = [self.classes[int(code)] for code in codes[known]]
        kept = [position for position in range(len(data.channels)) if position != place]
        rest = data.replace_unchecked(
            values=np.ascontiguousarray(data.values[:, kept]), channels=tuple(data.channels[k] for k in kept)
        )
        parts = [labels[begin:end] for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True)]
        return rest, parts


def varies(frame: polars.DataFrame, id: str, target: str, missing: Sequence[float | str] = ()) -> int:
    """Return the number of series in which a column has several values; 0 if there is no such column.

    Args:
        frame: the table.
        id: name of its id column.
        target: name of the column.
        missing: words that mean that there is no label.
    """
    import polars

    from liquidtime.data.reading.missing_words import known_labels

    if target not in frame.columns or id not in frame.columns:
        return 0
    pairs = frame.select(id, known_labels(frame[target], missing)).drop_nulls().unique()
    return len(pairs.group_by(id).len().filter(polars.col("len") > 1))


def sample_target(
    frame: polars.DataFrame,
    columns: Columns,
    target: str,
    labels: polars.DataFrame | None,
    labels_id: str | None,
    missing: Sequence[float | str] = (),
) -> SampleTarget:
    """Return a table of measurements with the target of every sample among its channels.

    Args:
        frame: the table of measurements.
        columns: the meaning of its columns.
        target: a column of `frame` or `labels`, or a channel if `frame` has one measurement per row.
        labels: a table with one row per series and time; None if the target is in `frame`.
        labels_id: id column of `labels`; None for that of `frame`.
        missing: words that mean that there is no label.

    Raises:
        ValueError: a table of labels has no times, or no table has the target.

    """
    import dataclasses

    import polars

    from liquidtime.data.reading.missing_words import known_labels

    long = columns.channel is not None
    if labels is not None:
        for option, name in (("--labels-id", labels_id or columns.id), ("--time", columns.time), ("--target", target)):
            if name not in labels.columns:
                raise ValueError(
                    f"{option} {name!r} must be a column of the table of labels, which needs one row per series and "
                    f"time to give each sample a class; its columns are {', '.join(labels.columns)}"
                )
        rows = labels.select(
            polars.col(labels_id or columns.id).cast(frame[columns.id].dtype).alias(columns.id),
            polars.col(columns.time).cast(frame[columns.time].dtype),
            target,
        ).filter(polars.col(target).is_not_null())
        rows = rows.filter(polars.col(columns.id).is_in(frame[columns.id].unique().implode()))
    elif target in frame.columns:
        rows = frame.select(columns.id, columns.time, target)
    elif long and target in frame[str(columns.channel)].cast(str).unique().to_list():
        return SampleTarget(*_named_channel(frame, columns, target))
    else:
        raise ValueError(f"--target {target!r} is not a column or channel of the table")
    rows = rows.with_columns(known_labels(rows[target], missing))
    classes = sorted(rows[target].drop_nulls().unique().to_list())
    coded = rows.with_columns(
        polars.col(target).replace_strict(classes, list(range(len(classes))), default=None, return_dtype=polars.Float64)
    )
    if long:
        own = coded.rename({target: str(columns.value)}).with_columns(polars.lit(target).alias(str(columns.channel)))
        kept = [name for name in frame.columns if name != target]
        own = own.filter(polars.col(str(columns.value)).is_not_null())
        base = frame.select(kept).with_columns(polars.col(str(columns.value)).cast(polars.Float64, strict=False))
        return SampleTarget(polars.concat([base, own], how="diagonal_relaxed"), columns, target, classes)
    base = frame.drop(target) if target in frame.columns else frame
    if labels is not None:
        whole = base.join(coded, on=[columns.id, columns.time], how="full", coalesce=True, maintain_order="left")
    else:
        whole = base.with_columns(coded[target])
    if columns.values:
        columns = dataclasses.replace(columns, values=(*columns.values, target))
    return SampleTarget(whole, columns, target, classes)


def _named_channel(frame: polars.DataFrame, columns: Columns, target: str) -> tuple[Any, ...]:
    """Return a table with one measurement per row in which the channel `target` has numbers for its classes."""
    import polars

    of_target = polars.col(str(columns.channel)).cast(str) == target
    value = polars.col(str(columns.value))
    values = frame.filter(of_target)[str(columns.value)].drop_nulls()
    classes = sorted(values.unique().to_list())
    if values.dtype.is_float() and all(number == int(number) for number in classes):
        classes = [int(number) for number in classes]
    codes = polars.when(of_target).then(value.replace_strict(classes, list(range(len(classes))), default=None))
    coded = codes.otherwise(value.cast(polars.Float64, strict=False)).cast(polars.Float64)
    return frame.with_columns(coded.alias(str(columns.value))), columns, target, classes
