"""What a search comes to: the best settings, what was tried, and the model that was trained by them and tested."""

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
    """A trial that has ended.

    Args:
        number: from 0.
        state: "complete", "pruned" or "fail".
        loss: on the held-out series; None where it did not come to its end.
        settings: what it drew.
        curve: the held-out loss after each epoch of its first network.
        seconds: how long it took.
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

        found.best                    settings of the best trial
        found.figures                 of the model with these settings on the test part, which no trial has seen
        found.model                   that model
        found.report("search.html")   what was tried

    Args:
        best: settings of the best trial.
        loss: its loss on held-out series of the training part.
        trials: all that have ended.
        importance: of each setting for the loss, 0…1 in all; empty where there are too few trials to tell.
        space: what was chosen from, in words.
        result: the model with the best settings, trained on the training part, tested, and trained on all series.
        name: of the study.
        storage: where it is, without a password; "" in memory.
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
        """The estimator with the best settings, fitted."""
        return self.result.model

    @property
    def figures(self) -> Any:
        """Figures of merit on the test part, by model and metric."""
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
        """Write the report of the search as one HTML file that needs no other.

        Args:
            path: of the file; one that is there is replaced.
        """
        file = Path(path)
        write_file(file.absolute(), self.page().encode())
        return file

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.best.items())
        return (
            f"SearchResult: {len(self.trials)} trials, held-out loss {self.loss:.4g} with {settings}\n{self.result!r}"
        )
