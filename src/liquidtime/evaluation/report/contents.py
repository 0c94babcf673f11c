"""The contents of a report: plain numbers and texts, without a model."""

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
    """The learning curve of one network.

    Args:
        history: one record per epoch with `loss` and, with validation, `val_…`.
        best_epoch: epoch, from 0, whose weights were kept, if one was chosen.
    """

    history: Sequence[Mapping[str, Any]]
    best_epoch: int | None = None


@dataclass(frozen=True, eq=False)
class ReportData:
    """The complete contents of a report.

    Args:
        title: title of the page.
        task: task, which also determines the figures of the predictions.
        description: description of the data, from `SeriesSet.describe`.
        lengths: (S,) number of samples of each series.
        intervals: (N,) times between neighbouring samples.
        parts: number of series per part, by name, such as {"training": 560, "validation": 140, "test": 300}.
        comparison: comparison of the model and the baselines on the test part.
        target_name: name of the target.
        curves: one entry per trained network.
        monitor: validation metric that chose the epoch; "" if there was none.
        series: the best and the worst series of the test part.
        counts: number of series of each class, by part; empty for values.
        errors: errors of forecasts by channel and gap, in the units of the channels.
        insight: explanation of the model; None for none.
        settings: settings of the model and its training, by name.
        versions: versions of the software, by name.
        seed: random seed of the run.
        command: command that made the model, if any.
        attribution: source of the data, if it must be named.
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
        """A sentence that says which model to use; "" without a baseline."""
        return verdict(self.comparison, paired=self.task.has_target)

    def __post_init__(self) -> None:
        if not self.comparison.predictions:
            raise ValueError("`comparison` must have at least one model; it has none")
        n, C = len(self.comparison.target), len(self.comparison.classes)
        needed, axes = ((n, C), "(n, C)") if C else (np.shape(self.comparison.target), "(n,) or (n, K)")
        for name, prediction in self.comparison.predictions.items():
            if prediction.shape != needed:
                raise wrong_shape("prediction", axes, needed, prediction.shape, f"Of {name!r}.")
