"""Reads model folders: the estimator, and the job for which it was trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Table
    from liquidtime.evaluation import JobRecord
    from liquidtime.scoring.columns import Columns
    from liquidtime.scoring.reading_options import ReadingOptions

_LARGEST_JOB = 1 << 22


def load(folder: Path, device: str | None = None) -> tuple[Any, JobRecord | None]:
    """Return the estimator of a folder, for predictions on a device, and its job, or None if it was saved without one.

    Raises:
        ValueError: the device does not exist.
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file was changed.

    """
    from liquidtime.errors import nearest
    from liquidtime.estimators import load as load_model

    if not folder.is_dir():
        siblings = [item.name for item in folder.parent.iterdir() if item.is_dir()] if folder.parent.is_dir() else []
        raise FileNotFoundError(f"there is no model folder {str(folder)!r}{nearest(folder.name, siblings)}")
    if device is None:
        return load_model(folder), read_record(folder)
    from liquidtime.training.devices import device_of

    device_of(device)
    return load_model(folder).set_params(device=device), read_record(folder)


def read_record(folder: Path) -> JobRecord | None:
    """Return the job of a model folder, or None if it was saved without one.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file was changed.

    """
    from liquidtime.evaluation.job_record import JOB, JobRecord
    from liquidtime.files.bounded import DamagedFolder
    from liquidtime.files.sealed import SealedFolder

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
    """Return the columns of training, with some of them replaced.

    Args:
        record: job of the model; None if it has none.
        **named: columns named on the command line.

    Returns:
        The columns; None if there are none from training, and not both of `id` and `time` are named.

    """
    from liquidtime.scoring.columns import Columns

    if record is not None and record.columns is not None:
        return Columns.from_dict(record.columns).changed(**named)
    if named.get("id") is None or named.get("time") is None:
        return None
    return Columns(str(named["id"]), str(named["time"])).changed(**named)


def columns_to_read(record: JobRecord | None, **named: str | None) -> Columns:
    """Return the columns of training, with some of them replaced; refuse a model if they are incomplete."""
    columns = columns_of(record, **named)
    if columns is None:
        raise ValueError(
            "the model was not trained on the command line, so its column names are unknown; pass --id and --time"
        )
    return columns


def read_series(
    estimator: Any, columns: Columns, data: Any, options: ReadingOptions, strict: bool
) -> tuple[Table, SeriesSet]:
    """Return a table for predictions, and its series.

    Args:
        estimator: the model.
        columns: meaning of the columns of the table.
        data: path of the table.
        options: reading options from the command line.
        strict: whether to refuse data that would be repaired.
    """
    from liquidtime.scoring.stored_tables import measurements

    table, encoder = measurements(data, options.reading(columns.reading), columns), estimator.encoder_
    names = encoder.channels_, encoder.static_names_
    return table, columns.read_new(table, options, *names, encoder.time_unit_, strict)
