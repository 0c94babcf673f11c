"""Run seeds of a model in an experiment; skip those with a result and resume interrupted ones."""

from __future__ import annotations

import dataclasses
import functools
import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from liquidtime._checks import check_choice, check_size
from liquidtime.paper.datasets import Split
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.experiment import HONEST
from liquidtime.paper.fitting import Outcome, Trial
from liquidtime.paper.runner.results import Key, surroundings, write_prediction, write_result
from liquidtime.paper.runner.scoring import reported
from liquidtime.paper.runner.search import best, chosen_settings, searched, trials_of
from liquidtime.training import read_log
from liquidtime.training.run_folder import clear_run


def run(
    experiment: str,
    model: str,
    seeds: Sequence[int],
    *,
    protocol: str = HONEST,
    epochs: int | None = None,
    limit: int | None = None,
    data_dir: str | Path | None = None,
    out: str | Path = "results",
    jobs: int | None = None,
    progress: bool | None = None,
    log: Callable[[str], None] = lambda text: None,
    every: float = 30.0,
) -> list[Path]:
    """Run seeds and return their result files.

    Args:
        experiment: name in `EXPERIMENTS`.
        model: name of a row of the experiment.
        seeds: random seeds, one result each; seeds that have a result are skipped.
        protocol: name of a protocol of the experiment.
        epochs: number of epochs; None for that of the settings.
        limit: use only this many sequences of each part, the first ones, for a quick try.
        data_dir: folder with the data, see `liquidtime.paper.datasets`.
        out: folder of the results; its folder `runs/` has the checkpoints of seeds that are running.
        jobs: number of seeds to run in parallel, with one thread each. None: as many as there are cores.
        progress: whether to show a progress line per seed; None: only on a terminal.
        log: called with one line per event.
        every: seconds between progress lines of seeds that run in parallel.

    """
    check_choice("experiment", experiment, EXPERIMENTS)
    chosen = EXPERIMENTS[experiment]
    row = chosen.row(model)
    check_choice("protocol", protocol, row.protocols or chosen.protocols)
    for name, value in (("epochs", epochs), ("limit", limit), ("jobs", jobs)):
        if value is not None:
            check_size(name, value)
    home = Path(out)
    keys = [Key(experiment, model, protocol, check_size("seed", seed, least=0), epochs, limit) for seed in seeds]
    waiting = []
    for key in keys:
        if key.file(home).exists():
            log(f"{key.file(home)}: already done")
        else:
            waiting.append(key)
    together = min(jobs if jobs is not None else os.cpu_count() or 1, max(len(waiting), 1))
    if together == 1:
        for key in waiting:
            log(run_seed(key, data_dir, home, 1, progress))
    else:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(together, mp_context=spawn, initializer=_one_thread) as pool:
            work: set[Future[str]] = {pool.submit(run_seed, key, data_dir, home, together, False) for key in waiting}
            reported: dict[Key, str] = {}
            while work:
                done, work = wait(work, timeout=every, return_when=FIRST_COMPLETED)
                for one in done:
                    log(one.result())
                for key in waiting if not done else []:
                    status = progress_of(key, home)
                    if status and reported.get(key) != status:
                        reported[key] = status
                        log(status)
    return [key.file(home) for key in keys]


def tune(
    experiment: str,
    model: str,
    *,
    epochs: int | None = None,
    limit: int | None = None,
    data_dir: str | Path | None = None,
    out: str | Path = "results",
    progress: bool | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run the trials of a model in an experiment's search, and return all of them and the one with the best validation.

    Trials that have a file are skipped. The row `MODEL_searched` uses the settings of the best one.

    Args:
        experiment: name in `EXPERIMENTS`.
        model: name of a row in the search.
        epochs: number of epochs; None for that of the trials.
        limit: use only this many sequences of each part, the first ones, for a quick try.
        data_dir: folder with the data, see `liquidtime.paper.datasets`.
        out: folder of the results; trials are in its folder `search/`.
        progress: whether to show a progress line per trial; None: only on a terminal.
        log: called with one line per trial.

    """
    check_choice("experiment", experiment, EXPERIMENTS)
    chosen = EXPERIMENTS[experiment]
    searched(chosen, model)
    row = chosen.row(model)
    for name, value in (("epochs", epochs), ("limit", limit)):
        if value is not None:
            check_size(name, value)
    split = _data(experiment, HONEST, _text(data_dir), limit, tuple(sorted(row.options.items())))
    records = trials_of(Key(experiment, model, HONEST, 0, epochs, limit), split, Path(out), progress, log)
    return records, best(chosen, records)


def run_seed(key: Key, data_dir: str | Path | None, out: Path, together: int, progress: bool | None) -> str:
    """Run one seed, write its result, and return a line about it."""
    experiment = EXPERIMENTS[key.experiment]
    row = experiment.row(key.model)
    split = _data(key.experiment, key.protocol, _text(data_dir), key.limit, tuple(sorted(row.options.items())))
    settings, origin = row.settings, {}
    if row.search is not None:
        honest = _data(key.experiment, HONEST, _text(data_dir), key.limit, tuple(sorted(row.options.items())))
        settings, number = chosen_settings(dataclasses.replace(key, model=row.search), honest, out, progress)
        origin = {"search": {"model": row.search, "trial": number}}
    if settings is not None and key.epochs is not None:
        settings = dataclasses.replace(settings, epochs=key.epochs)
    folder = key.folder(out)
    if row.average is not None:
        outcome = _averaged(key, row.average, data_dir, out, together, progress)
    else:
        outcome = row.model.fit(
            Trial(
                task=experiment.task,
                split=split,
                honest=key.protocol == HONEST,
                seed=key.seed,
                folder=folder,
                progress=progress,
                kept=key.kept(out),
                last_epoch=row.last_epoch,
            ),
            settings,
        )
    if experiment.is_averaged(key.model):
        write_prediction(key.prediction(out), outcome.prediction)
    figures = reported(experiment.task, split, outcome)
    seconds = [record["seconds"] for record in outcome.history]
    record = {
        "key": dataclasses.asdict(key),
        "title": row.title,
        "note": row.note,
        "settings": None if settings is None else settings.to_dict(),
        **origin,
        "train_settings": outcome.train_settings,
        "data": {**experiment.protocols[key.protocol], **row.options},
        "sizes": {name: len(part) for name, part in split.parts().items()},
        "weights": outcome.weights,
        "epochs": outcome.epochs,
        "best_epoch": outcome.best_epoch,
        "stopped": outcome.stopped,
        "seconds_per_epoch": median(seconds) if seconds else None,
        "curves": _curves(outcome.history),
        "figures": figures,
        **surroundings(torch.get_num_threads(), together),
    }
    write_result(key.file(out), record)
    for part in folder.glob("*/"):  # a model with several parts trains each of them in its own folder
        clear_run(part)
    clear_run(folder)
    test = figures["test"]
    return f"{key.file(out)}: {test['metric']} {test['value']:.4f} [{test['low']:.4f}, {test['high']:.4f}]"


def _averaged(
    key: Key, average: tuple[str, int], data_dir: str | Path | None, out: Path, together: int, progress: bool | None
) -> Outcome:
    """Return the mean prediction of several seeds of a row, after running those that are missing."""
    name, n = average
    members = [dataclasses.replace(key, model=name, seed=n * key.seed + number) for number in range(n)]
    for member in members:
        if not (member.file(out).exists() and member.prediction(out).exists()):
            run_seed(member, data_dir, out, together, progress)
    records = [json.loads(member.file(out).read_text(encoding="utf-8")) for member in members]
    return Outcome(
        prediction=np.mean([np.load(member.prediction(out)) for member in members], axis=0),
        weights=sum(record["weights"] for record in records),
        train_settings={"row": name, "seeds": [member.seed for member in members]},
    )


def progress_of(key: Key, out: Path) -> str:
    """Return a progress line of a running seed, from its log; empty before the end of its first epoch."""
    try:
        records = read_log(key.folder(out))
    except OSError:
        return ""
    if not records:
        return ""
    last = records[-1]
    held = [f"{name} {value:.4f}" for name, value in last.items() if name.startswith("val_") and value is not None]
    return (
        f"{key.experiment} {key.stem()}: epoch {last['epoch'] + 1}, loss {last['loss']:.4f} {' '.join(held)}".rstrip()
    )


def _curves(history: list[dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in history for name in record)
    return {name: [record.get(name) for record in history] for name in names}


@functools.lru_cache(maxsize=1)
def _data(
    experiment: str, protocol: str, data_dir: str | None, limit: int | None, options: tuple[tuple[str, Any], ...]
) -> Split:
    """Return the data, which the seeds of one process share."""
    return EXPERIMENTS[experiment].data(protocol, data_dir, limit, **dict(options))


def _text(data_dir: str | Path | None) -> str | None:
    return None if data_dir is None else str(data_dir)


def _one_thread() -> None:
    torch.set_num_threads(1)
