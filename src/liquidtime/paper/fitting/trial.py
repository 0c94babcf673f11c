"""The input of a model of an experiment, and its output for the result file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.fitting.task import Task


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One seed of one model on one split of the data.

    Attributes:
        task: the task.
        split: the data.
        honest: whether the data are used as they are and the best validation epoch is reported; otherwise the last.
        seed: random seed.
        folder: folder for checkpoints, from which an interrupted trial resumes.
        progress: whether to show a progress line; None: only on a terminal.
        kept: folder for weights and images that other trials and figures need; None to store none.
        last_epoch: whether to report the last epoch of an honest trial too, which needs no validation part.

    """

    task: Task
    split: Split
    honest: bool
    seed: int
    folder: Path
    progress: bool | None = None
    kept: Path | None = None
    last_epoch: bool = False

    @property
    def held(self) -> Sequences | None:
        """The part on which the epoch is chosen; None if the last epoch is reported."""
        return None if not self.honest or self.last_epoch else self.validation

    @property
    def validation(self) -> Sequences:
        """The validation part, which must exist."""
        if self.split.validation is None:
            raise ValueError("`split` must have a validation part, on which the epoch is chosen; it has none.")
        return self.split.validation

    @property
    def known(self) -> list[Sequences]:
        """All parts except the test part, for a model that chooses no epoch."""
        return [part for name, part in self.split.parts().items() if name != "test"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a trial.

    Attributes:
        prediction: predictions for the test part, in the form that the metric of the task takes.
        weights: number of trained weights.
        train_settings: training settings, for the result file.
        history: one record per epoch.
        epochs: number of epochs that were run.
        best_epoch: the chosen epoch, from 0; None if none was chosen.
        best_metric: its metric on the validation part.
        stopped: "finished", "early", "target", "spent" (the rate, `Task.least_rate`) or "diverged".
        figures: other figures.

    """

    prediction: npt.NDArray[np.float64]
    weights: int
    train_settings: dict[str, Any]
    history: list[dict[str, Any]] = field(default_factory=list)
    epochs: int = 0
    best_epoch: int | None = None
    best_metric: float | None = None
    stopped: str = "finished"
    figures: dict[str, Any] = field(default_factory=dict)
