"""Run the trials of a search, with one file each, and choose the settings of the one with the best validation."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from liquidtime.paper.datasets import Split
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.experiment import HONEST, Experiment
from liquidtime.paper.experiments.search import Search
from liquidtime.paper.fitting import Settings, Trial
from liquidtime.paper.runner.results import Key, surroundings, write_result
from liquidtime.training import METRICS
from liquidtime.training.run_folder import clear_run

FOLDER = "search"


@dataclass(frozen=True)
class TrialKey:
    """The key of a trial: the run whose settings are searched for, and a number from 0."""

    run: Key
    number: int

    def stem(self) -> str:
        """Return the name of the trial's file and folder, without an extension."""
        changed = f"-{self.run.changed()}" if self.run.changed() else ""
        return f"{self.run.model}{changed}-trial{self.number}"

    def file(self, out: Path) -> Path:
        """Return the path of the trial's result."""
        return out / FOLDER / self.run.experiment / f"{self.stem()}.json"

    def folder(self, out: Path) -> Path:
        """Return the folder of the checkpoints during the trial."""
        return out / "runs" / FOLDER / self.run.experiment / self.stem()


def trials_of(
    key: Key,
    split: Split,
    out: Path,
    progress: bool | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> list[dict[str, Any]]:
    """Return the trials of a row, by number, after running those without a file and resuming interrupted ones.

    Args:
        key: a run of the row whose settings are searched for; its seed does not matter.
        split: data of the honest protocol. Its test part is not used: trials are tested on the validation part.
        out: folder of the result files.
        progress: whether to show a progress line.
        log: called with one line per trial.

    """
    experiment = EXPERIMENTS[key.experiment]
    search = searched(experiment, key.model)
    start = experiment.row(key.model).settings
    if start is None:
        raise ValueError(f"{key.model} of {key.experiment} has no settings to search for.")
    if split.validation is None:
        raise ValueError("trials are compared on the validation part; this split has none.")
    rows = torch.arange(len(split.train))[: search.sequences]
    blind = Split(split.train.take(rows), split.validation, split.validation)
    records = []
    for number in range(search.trials):
        one = TrialKey(key, number)
        if not one.file(out).exists():
            settings = search.settings(key.model, start, number)
            _run(one, experiment, settings, key.epochs or search.epochs or settings.epochs, blind, out, progress)
        record = json.loads(one.file(out).read_text(encoding="utf-8"))
        records.append(record)
        log(f"{one.file(out)}: {experiment.task.metric} {record['validation']} on validation")
    return records


def read_trials(out: Path, experiment: Experiment, model: str) -> list[dict[str, Any]]:
    """Return the trials of a row that have a file, by number, without those of changed length or data."""
    key = Key(experiment.name, model, HONEST, 0)
    files = [TrialKey(key, number).file(out) for number in range(searched(experiment, model).trials)]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]


def searched(experiment: Experiment, model: str) -> Search:
    """Return the search that includes a row.

    Raises:
        ValueError: there is none; the message names the rows or experiments that have one.

    """
    search = experiment.search
    if search is None:
        names = [name for name, other in EXPERIMENTS.items() if other.search is not None]
        raise ValueError(f"{experiment.name} declares no search; those that do: {', '.join(names)}.")
    if model not in search.rows:
        raise ValueError(f"the search of {experiment.name} has no model {model!r}; it has {', '.join(search.rows)}.")
    return search


def best(experiment: Experiment, records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the trial with the best validation metric, or the first of equally good ones; diverged trials have none.

    Raises:
        ValueError: all trials diverged.

    """
    sign = 1.0 if METRICS[experiment.task.metric].higher_is_better else -1.0
    usable = [record for record in records if record["validation"] is not None and math.isfinite(record["validation"])]
    if not usable:
        raise ValueError(f"all trials of {records[0]['model']} diverged, so there are no best settings.")
    return max(usable, key=lambda record: (sign * record["validation"], -record["trial"]))


def chosen_settings(key: Key, split: Split, out: Path, progress: bool | None = None) -> tuple[Settings, int]:
    """Return the settings of a row's best trial and its number, after running missing trials."""
    found = best(EXPERIMENTS[key.experiment], trials_of(key, split, out, progress))
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in found["settings"].items()
    }
    return Settings(**values), found["trial"]


def _run(
    one: TrialKey,
    experiment: Experiment,
    settings: Settings,
    epochs: int,
    split: Split,
    out: Path,
    progress: bool | None,
) -> None:
    row, folder = experiment.row(one.run.model), one.folder(out)
    outcome = row.model.fit(
        Trial(
            task=experiment.task,
            split=split,
            honest=True,
            seed=0,
            folder=folder,
            progress=progress,
            kept=one.run.kept(out),
        ),
        dataclasses.replace(settings, epochs=epochs),
    )
    seconds = [record["seconds"] for record in outcome.history]
    record = {
        "experiment": one.run.experiment,
        "model": one.run.model,
        "trial": one.number,
        "protocol": HONEST,
        "settings": settings.to_dict(),
        "sequences": len(split.train),
        "validation": outcome.best_metric,
        "metric": experiment.task.metric,
        "epochs": outcome.epochs,
        "best_epoch": outcome.best_epoch,
        "stopped": outcome.stopped,
        "weights": outcome.weights,
        "seconds_per_epoch": median(seconds) if seconds else None,
        **surroundings(torch.get_num_threads(), 1),
    }
    write_result(one.file(out), record)
    for part in folder.glob("*/"):
        clear_run(part)
    clear_run(folder)
