"""job.json of a model folder: the job that the model was trained for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from liquidtime.training.artifact import json_to_bytes

JOB, REPORT = "job.json", "report.html"
"""Files of a model folder besides the model itself."""
_FORMAT = 1


@dataclass(frozen=True)
class JobRecord:
    """What a model folder remembers of how its model was trained.

    Args:
        task: name of the task.
        columns: what the columns of the training table mean, as the command line describes them; None where the
            model was not trained from a table.
        target: name of what is predicted; None for forecasts.
        labels_id: column of ids in the table of labels; None where there was no such table.
        parts: number of series by part.
        test: figures of merit by model and metric.
        auxiliary: names of the auxiliary targets.
    """

    task: str
    columns: Mapping[str, Any] | None
    target: str | None
    labels_id: str | None
    parts: Mapping[str, int]
    test: Mapping[str, Any]
    auxiliary: Sequence[str] = ()

    def to_bytes(self) -> bytes:
        """Return the record as a file."""
        return json_to_bytes({**asdict(self), "format": _FORMAT})

    @staticmethod
    def from_bytes(raw: bytes) -> JobRecord:
        """Return what `to_bytes` wrote.

        Raises:
            ValueError: not a record, or one of a newer format.

        """
        try:
            stored = json.loads(raw)
            if stored.pop("format") != _FORMAT:
                raise ValueError("it is of a newer format. Update liquidtime.")
            return JobRecord(**stored)
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(str(error)) from error
