"""Labelled series for `evaluate`, `explain` and `export`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Table
    from liquidtime.evaluation import JobRecord
    from liquidtime.scoring.columns import Columns
    from liquidtime.scoring.reading_options import ReadingOptions


def labelled(
    estimator: Any,
    series: SeriesSet,
    table: Table,
    columns: Columns,
    options: ReadingOptions,
    record: JobRecord | None,
    truth: str | None,
    labels: Path | None,
    labels_id: str | None,
    strict: bool,
    other_ids: bool = False,
) -> tuple[SeriesSet, Any]:
    """Return the series whose truth is known, and the truth: one value per series, or one per sample.

    Args:
        estimator: the model.
        series: the series in the table.
        table: the table of measurements.
        columns: the meaning of its columns.
        options: options for reading tables.
        record: record of the model's training.
        truth: name of the column with the truth.
        labels: table with the truth; None if the truth is a column of `table`.
        labels_id: id column of `labels`; None for the one used in training.
        strict: refuse data that would have to be repaired.
        other_ids: whether the id column differs from the one used in training.
    """
    from liquidtime.cli.columns import labels_of, with_numbers
    from liquidtime.cli.options import listed
    from liquidtime.cli.sample_targets import sample_target
    from liquidtime.cli.stored_tables import refuse_stored
    from liquidtime.data import align_labels, align_outcomes
    from liquidtime.data.reading import read_table
    from liquidtime.tasks import task_of

    if truth is None:
        raise ValueError("the model does not record its target; give --target")
    how = options.reading(columns.reading)
    label_table = None if labels is None else read_table(labels, how.hints()).frame
    if task_of(estimator).per_sample:
        refuse_stored(table)
        samples, encoder = (
            sample_target(table.frame, columns, truth, label_table, labels_id, how.missing),
            estimator.encoder_,
        )
        whole, channels = dataclasses.replace(table, frame=samples.frame), (*encoder.channels_, truth)
        return samples.split(
            samples.columns.read_new(whole, options, channels, encoder.static_names_, encoder.time_unit_, strict)
        )
    several = task_of(estimator).several_targets
    names = listed([truth]) if several else [truth]
    if label_table is None:
        label_table, column = labels_of(table.frame, columns, names[0], names[1:], how.missing), columns.id
    else:
        column = labels_id or (record and not other_ids and record.labels_id) or columns.id
    if several:
        return series, align_outcomes(
            series, label_table, id=column, columns=names, missing=how.missing, argument="target"
        )
    label_table = with_numbers(label_table, truth, task_of(estimator).name, how.decimal, how.missing)
    return align_labels(series, label_table, id=column, target=truth, strict=strict, missing=how.missing)
