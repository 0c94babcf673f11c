"""The model folder of the command line: an estimator's, with the job it was trained for and its report."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from liquidtime.cli.columns import Columns

JOB, REPORT = "job.json", "report.html"
_LARGEST_JOB, _MOST_VALUES = 1 << 22, 250_000


@dataclass(frozen=True)
class JobRecord:
    """What the command line remembers of how a model was trained.

    Args:
        task: "classify", "regress" or "forecast".
        columns: of the training table.
        target: what is predicted; None for forecasts.
        labels_id: column of ids in the table of labels.
        parts: number of series by part.
        test: figures of merit by model and metric.
        auxiliary: what was learned along.
    """

    task: str
    columns: Columns
    target: str | None
    labels_id: str
    parts: dict[str, int]
    test: dict[str, Any]
    auxiliary: Sequence[str] = ()

    def to_bytes(self) -> bytes:
        """Return the record as a file."""
        from liquidtime.training.artifact import json_to_bytes

        return json_to_bytes({**vars(self), "format": 1, "columns": self.columns.to_dict()})


def save(model: Any, out: Path, record: JobRecord, report: str | None) -> None:
    """Write the model, its job and its report as one folder, whole or not at all.

    Raises:
        FileExistsError: the folder holds other files.
        SaveFailed: the disk is full or refuses.

    """
    from liquidtime.training.artifact import read_folder, write_folder

    home = out.absolute()
    made = home.with_name(f".{home.name}.{os.getpid()}.model")
    ours = next(iter(record.test.values()))
    metrics = {f"{name}{end}": found[key] for name, found in ours.items() for end, key in _ENDS}
    try:
        model.save(made, metrics=metrics)
        files = {**read_folder(made), JOB: record.to_bytes()}
    finally:
        shutil.rmtree(made, ignore_errors=True)
    if report is not None:
        files[REPORT] = report.encode()
    write_folder(home, files)


_ENDS = (("", "value"), ("_low", "low"), ("_high", "high"))


def load(folder: Path) -> tuple[Any, JobRecord | None]:
    """Return the estimator of a folder and its job, None where it was not trained on the command line.

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
    """Return the job of a model folder, None where it was not trained on the command line.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file of it is not as it was written.

    """
    from liquidtime.training.bounded import DamagedFolder, json_from_bytes
    from liquidtime.training.sealed import SealedFolder

    sealed = SealedFolder(folder)
    if JOB not in sealed.entries:
        return None
    try:
        stored = json_from_bytes(sealed.read(JOB, _LARGEST_JOB), str(folder / JOB), _MOST_VALUES)
        if stored.pop("format") != 1:
            raise ValueError("it is of a newer format. Update liquidtime.")
        return JobRecord(**{**stored, "columns": Columns.from_dict(stored["columns"])})
    except DamagedFolder:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFolder(f"{folder / JOB} does not describe a job: {error}") from error
