"""job.json of a model folder: the job that the model was trained for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from liquidtime.errors import unknown_choice
from liquidtime.files.bounded import json_from_bytes
from liquidtime.files.contents import json_to_bytes
from liquidtime.training import ConfidenceInterval

JOB, REPORT = "job.json", "report.html"
"""Files of a model folder besides the model itself."""
_FORMAT, _MOST_VALUES = 1, 250_000
_COLUMNS = (
    "id", "time", "channel", "value", "values", "static", "categorical", "missing", "time_unit", "static_id", "reading",
)  # fmt: skip
"""Keys that describe the columns of a table; `id` and `time` are required."""


@dataclass(frozen=True)
class JobRecord:
    """The record of a training job in a model folder.

    Args:
        task: name of the task.
        columns: meaning of the columns of the training table, in the terms of the command line; None if the model was
            not trained on a table.
        target: name of the target; None for forecasts.
        labels_id: id column of the table of labels; None if there was none.
        parts: number of series per part.
        test: test figures, by model and metric.
        auxiliary: names of the auxiliary targets.
        split: how the test part was chosen, under "test", and what the saved model was trained on, under "saved model",
            as text.
    """

    task: str
    columns: Mapping[str, Any] | None
    target: str | None
    labels_id: str | None
    parts: Mapping[str, int]
    test: Mapping[str, Any]
    auxiliary: Sequence[str] = ()
    split: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.columns is None:
            return
        for name in self.columns:
            if name not in _COLUMNS:
                raise unknown_choice("columns", name, _COLUMNS)
        if "id" not in self.columns or "time" not in self.columns:
            raise ValueError(f"`columns` must name `id` and `time`; got {', '.join(self.columns) or 'none'}")

    def to_bytes(self) -> bytes:
        """Return the record as a file."""
        return json_to_bytes({**asdict(self), "format": _FORMAT})

    @staticmethod
    def from_bytes(raw: bytes) -> JobRecord:
        """Return the record that `to_bytes` wrote.

        Raises:
            ValueError: it is not a record, or has a newer format.

        """
        try:
            stored = json_from_bytes(raw, JOB, _MOST_VALUES)
            if stored.pop("format") != _FORMAT:
                raise ValueError("it is of a newer format. Update liquidtime.")
            record = JobRecord(**stored)
            figures_of(record.test)
            return record
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(str(error)) from error


def figures_of(stored: Mapping[str, Any]) -> dict[str, dict[str, ConfidenceInterval]]:
    """Return the figures that a record stores, by model and metric.

    Raises:
        ValueError: a figure is not a number.
        TypeError: an entry is not a figure.

    """
    figures = {}
    for model, row in stored.items():
        figures[model] = {metric: ConfidenceInterval(**figure) for metric, figure in row.items()}
        for metric, figure in figures[model].items():
            if not all(isinstance(number, int | float) for number in (figure.value, figure.low, figure.high)):
                raise ValueError(f"`test` has a {metric!r} of {model!r} that is not a number")
    return figures
