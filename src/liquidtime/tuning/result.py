"""The result of a search: the best settings, the trials, and the tested model with the best settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars

from liquidtime.evaluation.result import Result
from liquidtime.files.whole_files import write_file


@dataclass(frozen=True)
class TriedTrial:
    """A finished trial.

    Args:
        number: number of the trial, from 0.
        state: "complete", "pruned" or "fail".
        loss: loss on held-out series; None if the trial did not complete.
        settings: settings of the trial.
        curve: held-out loss after each epoch of its first network.
        seconds: duration of the trial.
    """

    number: int
    state: str
    loss: float | None
    settings: Mapping[str, Any]
    curve: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult:
    """The outcome of `lt.search`.

        result.best                    settings of the best trial
        result.figures                 figures of the model with these settings on the test part, unseen by all trials
        result.model                   the model itself
        result.report("search.html")   a page about the trials

    Args:
        best: settings of the best trial.
        loss: loss of the best trial on held-out series of the training part.
        trials: all finished trials.
        importance: importance of each setting for the loss, 0…1 in total; empty if there are too few trials.
        space: description of the search space.
        result: the model with the best settings, trained on the training part, tested, and trained on all series.
        name: name of the study.
        storage: storage of the study, without a password; "" for memory.
    """

    best: Mapping[str, Any]
    loss: float
    trials: tuple[TriedTrial, ...]
    importance: Mapping[str, float]
    space: Mapping[str, str]
    result: Result
    name: str
    storage: str

    @property
    def model(self) -> Any:
        """The fitted estimator with the best settings."""
        return self.result.model

    @property
    def figures(self) -> Any:
        """Figures on the test part, by model and metric."""
        return self.result.figures

    @property
    def table(self) -> polars.DataFrame:
        """One row per trial: number, state, loss, seconds and settings."""
        names = list(self.space)
        return polars.DataFrame(
            [
                {
                    "trial": trial.number,
                    "state": trial.state,
                    "loss": trial.loss,
                    "seconds": trial.seconds,
                    **{name: trial.settings.get(name) for name in names},
                }
                for trial in self.trials
            ],
            infer_schema_length=None,
            strict=False,
        )

    def page(self) -> str:
        """Return the report of the search as the text of an HTML page.

        Raises:
            ImportError: matplotlib or jinja2 is not installed.

        """
        from liquidtime.tuning.page import render

        return render(self)

    def report(self, path: str | Path) -> Path:
        """Write the report of the search as one self-contained HTML file.

        Args:
            path: path of the file; an existing file is replaced.
        """
        file = Path(path)
        write_file(file.absolute(), self.page().encode())
        return file

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.best.items())
        return (
            f"SearchResult: {len(self.trials)} trials, held-out loss {self.loss:.4g} with {settings}\n{self.result!r}"
        )
