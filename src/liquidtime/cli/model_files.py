"""The model folder as the command line reads it: the estimator, with the job it was trained for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.cli.columns import Columns
    from liquidtime.cli.reading_options import ReadingOptions
    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Table
    from liquidtime.evaluation import JobRecord

_LARGEST_JOB = 1 << 22


def load(folder: Path, device: str | None = None) -> tuple[Any, JobRecord | None]:
    """Return the estimator of a folder, to predict on a device, and its job, None where it was saved without one.

    Raises:
        ValueError: a device that is not there.
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file of it is not as it was written.

    """
    import liquidtime
    from liquidtime.errors import nearest

    if not folder.is_dir():
        siblings = [item.name for item in folder.parent.iterdir() if item.is_dir()] if folder.parent.is_dir() else []
        raise FileNotFoundError(f"there is no model folder {str(folder)!r}{nearest(folder.name, siblings)}")
    if device is None:
        return liquidtime.load(folder), read_record(folder)
    from liquidtime.training.devices import device_of

    device_of(device)
    return liquidtime.load(folder).set_params(device=device), read_record(folder)


def read_record(folder: Path) -> JobRecord | None:
    """Return the job of a model folder, None where it was saved without one.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file of it is not as it was written.

    """
    from liquidtime.evaluation.job_record import JOB, JobRecord
    from liquidtime.training.bounded import DamagedFolder
    from liquidtime.training.sealed import SealedFolder

    sealed = SealedFolder(folder)
    if JOB not in sealed.entries:
        return None
    try:
        record = JobRecord.from_bytes(sealed.read(JOB, _LARGEST_JOB))
        columns_of(record)
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedFolder(f"{folder / JOB} does not describe a job: {error}") from error
    return record


def columns_of(record: JobRecord | None, **named: str | None) -> Columns | None:
    """Return the columns of training with those named in their place.

    Args:
        record: of the model; None if it has none.
        **named: columns named on the command line.

    Returns:
        The columns; None where training remembers none and not both `id` and `time` are named.

    """
    from liquidtime.cli.columns import Columns

    if record is not None and record.columns is not None:
        return Columns.from_dict(record.columns).changed(**named)
    if named.get("id") is None or named.get("time") is None:
        return None
    return Columns(str(named["id"]), str(named["time"])).changed(**named)


def columns_to_read(record: JobRecord | None, **named: str | None) -> Columns:
    """Return the columns of training with those named in their place; refuse a model that remembers too few."""
    columns = columns_of(record, **named)
    if columns is None:
        raise ValueError("the model was not trained on the command line and remembers no columns; give --id and --time")
    return columns


def read_series(
    estimator: Any, columns: Columns, data: Any, options: ReadingOptions, strict: bool
) -> tuple[Table, SeriesSet]:
    """Return a table that a model is to be used on, and its series.

    Args:
        estimator: the model.
        columns: what the table's columns mean.
        data: where it is.
        options: what was typed about reading.
        strict: refuse what would be repaired.
    """
    from liquidtime.cli.stored_tables import measurements

    table, encoder = measurements(data, options.reading(columns.reading), columns.id), estimator.encoder_
    names = encoder.channels_, encoder.static_names_
    return table, columns.read_new(table, options, *names, encoder.time_unit_, strict)


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
