"""What a model of an experiment is given, and what it hands back for the result file."""

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
        task: what is asked.
        split: the data.
        honest: whether the data is taken as it is, and the best validation epoch is reported; else the last.
        seed: random seed.
        folder: for checkpoints; a trial that was interrupted resumes from there.
        progress: show a progress line; None = only on a terminal.
        kept: folder for weights and pictures that other trials and figures need; None keeps none.
        last_epoch: report the last epoch of an honest trial too; it needs no validation part.

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
        """What the epoch is chosen on, None where the last is reported."""
        return None if not self.honest or self.last_epoch else self.validation

    @property
    def validation(self) -> Sequences:
        """The validation part, which must be there."""
        if self.split.validation is None:
            raise ValueError("`split` must have a validation part, on which the epoch is chosen; it has none.")
        return self.split.validation

    @property
    def known(self) -> list[Sequences]:
        """Every part but the test part, for a model that chooses no epoch."""
        return [part for name, part in self.split.parts().items() if name != "test"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a trial.

    Attributes:
        prediction: of the test part, as the task's metric takes it.
        weights: number of trained weights.
        train_settings: what it was trained with, for the result file.
        history: one record per epoch.
        epochs: number of epochs that were run.
        best_epoch: counted from 0, None where none was chosen.
        best_metric: on the validation part.
        stopped: "finished", "early", "target", "spent" (the rate, `Task.least_rate`) or "diverged".
        figures: anything else that was measured.

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
