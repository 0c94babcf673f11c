"""The model folder as the command line reads it: the estimator, with the job it was trained for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.cli.columns import Columns
    from liquidtime.evaluation import JobRecord

_LARGEST_JOB = 1 << 22


def load(folder: Path) -> tuple[Any, JobRecord | None]:
    """Return the estimator of a folder and its job, None where it was saved without one.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file of it is not as it was written.

    """
    import liquidtime
    from liquidtime.errors import nearest

    if not folder.is_dir():
        siblings = [item.name for item in folder.parent.iterdir() if item.is_dir()] if folder.parent.is_dir() else []
        raise FileNotFoundError(f"there is no model folder {str(folder)!r}{nearest(folder.name, siblings)}")
    return liquidtime.load(folder), read_record(folder)


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
