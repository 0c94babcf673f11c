"""What a report is made from: plain numbers and texts, no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import Description
from liquidtime.errors import wrong_shape
from liquidtime.estimators.faces.forecast_test import ChannelSkill
from liquidtime.evaluation.insight import Explanation
from liquidtime.evaluation.report.verdict import verdict
from liquidtime.tasks import Comparison, SeriesView, Task

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Curve:
    """How one network learned.

    Args:
        history: one record per epoch with `loss` and, where there is validation, `val_…`.
        best_epoch: the epoch (from 0) whose weights were kept, if they were chosen.
    """

    history: Sequence[Mapping[str, Any]]
    best_epoch: int | None = None


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that a report shows.

    Args:
        title: of the page.
        task: what is predicted; says what is drawn of the predictions.
        description: of the data, as `SeriesSet.describe` returns it.
        lengths: (S,) samples of each series.
        intervals: (N,) times between neighbouring samples.
        parts: how many series each part has, by name, e.g. {"training": 560, "validation": 140, "test": 300}.
        comparison: the model and its rivals on the test part.
        target_name: what is predicted.
        curves: one per trained network.
        monitor: the validation metric that chose the epoch; "" if none did.
        series: the best and the worst of the test part.
        counts: for each class how many series each part has, by the name of the part; empty for values.
        errors: of forecasts, by channel and gap in own units.
        insight: what the model looks like inside; None leaves it out.
        settings: of the model and its training, by name.
        versions: of what it was made with, by name.
        seed: of the run.
        command: what was typed to make it, if it was.
        attribution: whose data it is, if that must be said.
    """

    title: str
    task: Task
    description: Description
    lengths: Array
    intervals: Array
    parts: Mapping[str, int]
    comparison: Comparison
    target_name: str = ""
    curves: Sequence[Curve] = ()
    monitor: str = ""
    series: Sequence[SeriesView] = ()
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    errors: Sequence[ChannelSkill] = ()
    insight: Explanation | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    command: str = ""
    attribution: str = ""

    @property
    def classes(self) -> list[str]:
        """Names of the classes; none for values."""
        return [str(label) for label in self.comparison.classes]

    @property
    def verdict(self) -> str:
        """Which model to take, in plain words; "" where there is nothing to compare with."""
        return verdict(self.comparison, paired=self.task.has_target)

    def __post_init__(self) -> None:
        if not self.comparison.predictions:
            raise ValueError("`comparison` must have at least one model; it has none")
        n, C = len(self.comparison.target), len(self.comparison.classes)
        needed, axes = ((n, C), "(n, C)") if C else (np.shape(self.comparison.target), "(n,) or (n, K)")
        for name, prediction in self.comparison.predictions.items():
            if prediction.shape != needed:
                raise wrong_shape("prediction", axes, needed, prediction.shape, f"Of {name!r}.")
