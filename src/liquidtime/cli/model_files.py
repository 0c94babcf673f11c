"""The series that a model is used on, with their truth."""

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
    """Return the series whose truth is known, and it: one per series, or of every sample where the model says those.

    Args:
        estimator: the model.
        series: of the table.
        table: as it was read.
        columns: what its columns mean.
        options: what was typed about reading.
        record: of the model.
        truth: column of the truth.
        labels: table of the truth; None where it is a column of `table`.
        labels_id: column of ids in `labels`; None for that of training.
        strict: refuse what would be repaired.
        other_ids: whether another column of ids than that of training was named.
    """
    from liquidtime.cli.columns import labels_of
    from liquidtime.cli.options import listed
    from liquidtime.cli.sample_targets import sample_target
    from liquidtime.cli.stored_tables import refuse_stored
    from liquidtime.data import align_labels, align_outcomes
    from liquidtime.data.reading import read_table
    from liquidtime.tasks import task_of

    if truth is None:
        raise ValueError("the model remembers no target; give --target")
    how = options.reading(columns.reading)
    own = None if labels is None else read_table(labels, how.hints()).frame
    if task_of(estimator).per_sample:
        refuse_stored(table)
        samples, encoder = sample_target(table.frame, columns, truth, own, labels_id, how.missing), estimator.encoder_
        whole, channels = dataclasses.replace(table, frame=samples.frame), (*encoder.channels_, truth)
        return samples.split(
            samples.columns.read_new(whole, options, channels, encoder.static_names_, encoder.time_unit_, strict)
        )
    several = task_of(estimator).several_targets
    names = listed([truth]) if several else [truth]
    if own is None:
        own, column = labels_of(table.frame, columns, names[0], names[1:], how.missing), columns.id
    else:
        column = labels_id or (record and not other_ids and record.labels_id) or columns.id
    if several:
        return series, align_outcomes(series, own, id=column, columns=names, missing=how.missing, argument="target")
    return align_labels(series, own, id=column, target=truth, strict=strict, missing=how.missing)
