"""What a report is made from: plain numbers and texts, no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice
from liquidtime.data.container.describe import Description
from liquidtime.errors import wrong_shape

Array = npt.NDArray[Any]
TASKS = ("classify", "regress", "forecast")


@dataclass(frozen=True)
class Figure:
    """A figure of merit with its confidence interval, where there is one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class ModelResult:
    """What one model does on the test part.

    Args:
        name: as the tables write it; the first of a report is ours, the others are baselines.
        figures: figures of merit by metric.
        prediction: (n, C) probabilities, or (n,) or (n, K) values.
    """

    name: str
    figures: Mapping[str, Figure]
    prediction: Array


@dataclass(frozen=True, eq=False)
class Curve:
    """How one network learned.

    Args:
        history: one record an epoch with `loss` and, where there is validation, `val_…`.
        best_epoch: the epoch (from 0) whose weights were kept, if they were chosen.
    """

    history: Sequence[Mapping[str, Any]]
    best_epoch: int | None = None


@dataclass(frozen=True, eq=False)
class SeriesView:
    """One series of the test part on its true time axis, with the prediction as it evolves.

    Args:
        kind: "best" or "worst".
        id: of the series.
        outcome: what was true and what was predicted, in words.
        times: (T,) in the unit of the data.
        values: (T, C), NaN = not observed.
        channels: the C names.
        seen: (P,) times at which the prediction is given.
        evolving: (P,) or (P, K) the prediction from all samples up to then.
        truth: what it should come to, if that is a number of the same kind.
        labels: what the K columns of `evolving` are.
    """

    kind: str
    id: str
    outcome: str
    times: Array
    values: Array
    channels: Sequence[str]
    seen: Array
    evolving: Array
    truth: float | None = None
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("best", "worst"))
        if self.values.shape != (len(self.times), len(self.channels)):
            raise wrong_shape("values", "(T, C)", [len(self.times), len(self.channels)], self.values.shape)
        if len(self.seen) != len(self.evolving):
            raise wrong_shape("evolving", "(P,)", [len(self.seen)], self.evolving.shape)


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that a report shows.

    Args:
        title: of the page.
        task: "classify", "regress" or "forecast".
        description: of the data, as `SeriesSet.describe` returns it.
        lengths: (S,) samples of each series.
        intervals: (N,) times between neighbouring samples.
        parts: how many series each part has, by name, e.g. {"training": 560, "validation": 140, "test": 300}.
        target: (n,) labels 0…C - 1, or (n,) or (n, K) values, of the test part.
        models: ours first, then the baselines.
        classes: the C names of the classes; for `classify` only.
        target_name: what is predicted.
        curves: one a trained network.
        monitor: the validation metric that chose the epoch; "" if none did.
        series: the best and the worst of the test part.
        gate_times: (H,) time scale of each unit's gate, in the unit of the data; None where there is no gate.
        settings: of the model and its training, by name.
        versions: of what it was made with, by name.
        seed: of the run.
        command: what was typed to make it, if it was.
        attribution: whose data it is, if that must be said.
    """

    title: str
    task: str
    description: Description
    lengths: Array
    intervals: Array
    parts: Mapping[str, int]
    target: Array
    models: Sequence[ModelResult]
    classes: Sequence[str] = ()
    target_name: str = ""
    curves: Sequence[Curve] = ()
    monitor: str = ""
    series: Sequence[SeriesView] = ()
    gate_times: Array | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    command: str = ""
    attribution: str = ""

    def __post_init__(self) -> None:
        check_choice("task", self.task, TASKS)
        if not self.models:
            raise ValueError("`models` must have at least one result; got none")
        n = len(self.target)
        for model in self.models:
            needed = (n, len(self.classes)) if self.task == "classify" else np.shape(self.target)
            if model.prediction.shape != needed:
                axes = "(n, C)" if self.task == "classify" else "(n,) or (n, K)"
                raise wrong_shape("prediction", axes, needed, model.prediction.shape, f"Of {model.name!r}.")
