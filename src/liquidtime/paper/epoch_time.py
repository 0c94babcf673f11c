"""How long an epoch of each model takes beside the others', measured in one run, and the table of it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from liquidtime.baselines.recurrent import ODERNNCell
from liquidtime.layers import Recurrent
from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.experiments.experiment import HONEST, Experiment, Row
from liquidtime.paper.fitting import NetworkModel, Run
from liquidtime.paper.results import surroundings, write_result
from liquidtime.training.clipping import clip_each
from liquidtime.training.settings import OPTIMIZERS

FILE = "epoch_time.json"
BESIDE = {"CfC": "cfc", "LSTM": "lstm"}
"""What every time is given relative to: the head of the column, and the row."""
ADAPTIVE = "ode_rnn_dopri5"
"""The ODE-RNN with the adaptive solver of its paper, timed wherever there is a row of the one with fixed steps."""

Step = Callable[[], None]


def timed_rows(experiment: Experiment) -> dict[str, Row]:
    """Return the rows that are trained batch by batch, and the ODE-RNN with the adaptive solver."""
    trained = {name: row for name, row in experiment.rows.items() if row.average is None}
    rows = {name: row for name, row in trained.items() if isinstance(row.model, NetworkModel)}
    if "ode_rnn" in rows:
        model = NetworkModel(
            "ODE-RNN, dopri5",
            (),
            lambda D, settings, task: Recurrent(
                lambda width: ODERNNCell(width, settings.hidden_size, solver="dopri5"), D
            ),
        )
        rows[ADAPTIVE] = dataclasses.replace(rows["ode_rnn"], model=model)
    return rows


def measure(
    experiment: Experiment,
    *,
    data_dir: str | Path | None = None,
    limit: int | None = None,
    repeats: int = 5,
    seconds: float = 100.0,
    clock: Callable[[], float] = time.perf_counter,
    said: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Train every model on the same few sequences, in turns, and return the best time of each, for a whole epoch.

    The sequences are as many as the largest batch of any row, of middle length where a row has batches of like
    lengths; each row takes them in batches of its own size. A step is the loss, its gradient, the clipping and the
    optimiser.

    Args:
        experiment: with its rows.
        data_dir: a folder with the data.
        limit: only the first so many sequences of each part.
        repeats: rounds at most.
        seconds: after which no further round is begun; the first is always whole.
        clock: tells seconds.
        said: is told what is measured, a line each.

    """
    rows = {name: row for name, row in timed_rows(experiment).items() if HONEST in (row.protocols or [HONEST])}
    given = [row.settings for row in rows.values() if row.settings is not None]
    count, middle = max(each.batch_size for each in given), any(each.like_lengths for each in given)
    data: dict[tuple[tuple[str, Any], ...], Split] = {}
    steps: dict[str, Step] = {}
    models: dict[str, dict[str, Any]] = {}
    sequences = 0
    for name, row in rows.items():
        key = tuple(sorted(row.options.items()))
        if key not in data:
            data[key] = experiment.data(HONEST, data_dir, limit, **row.options)
        split = data[key]
        sequences = len(split.train)
        network = _network(experiment, row, split)
        steps[name] = _pass(experiment, row, network, _chosen(split.train, count, middle))
        models[name] = {
            "title": row.title,
            "hidden_size": row.settings.hidden_size if row.settings is not None else None,
            "weights": sum(parameter.numel() for parameter in network.parameters()),
        }
    times: dict[str, list[float]] = {name: [] for name in steps}
    begun = clock()
    for _ in range(repeats):
        for name, step in steps.items():
            if times[name] and clock() - begun + min(times[name]) > seconds:
                continue
            start = clock()
            step()
            times[name].append(clock() - start)
    count = min(count, sequences)
    for name, taken in times.items():
        models[name] |= {"seconds_per_epoch": min(taken) * sequences / count, "rounds": len(taken)}
        said(f"{experiment.name} {name}: {models[name]['seconds_per_epoch']:.2f} s an epoch")
    return {"sequences": sequences, "timed": count, "models": models, **surroundings(torch.get_num_threads(), 1)}


def write(out: str | Path, name: str, record: dict[str, Any]) -> Path:
    """Put an experiment's record into the file of all, beside the others', and return its path."""
    path = Path(out) / FILE
    write_result(path, {**read(out), name: record})
    return path


def read(out: str | Path) -> dict[str, Any]:
    """Return the records by experiment; none where there is no file."""
    path = Path(out) / FILE
    if not path.exists():
        return {}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def table(record: dict[str, Any]) -> str:
    """Return the record of one experiment as a table, quickest first."""
    models = record["models"]
    threads = record["threads"]
    text = [
        f"Time of a training epoch of {record['sequences']:,} sequences, each model with its own settings: best of "
        f"several rounds over {record['timed']} of them in one run, {threads} thread{'s' if threads > 1 else ''}.",
        "",
        "| model | H | weights | s/epoch | " + " | ".join(f"× {head}" for head in BESIDE) + " |",
        "| --- | --- | --- | --- | " + " | ".join("---" for _ in BESIDE) + " |",
    ]
    for name in sorted(models, key=lambda name: float(models[name]["seconds_per_epoch"])):
        model = models[name]
        taken = model["seconds_per_epoch"]
        against = [taken / models[row]["seconds_per_epoch"] if row in models else None for row in BESIDE.values()]
        ratios = " | ".join("–" if ratio is None else f"{ratio:.2f}" for ratio in against)
        text.append(
            f"| {model['title']} | {model['hidden_size'] or '–'} | {model['weights']:,} | {taken:.2f} | {ratios} |"
        )
    return "\n".join(text) + "\n"


def _chosen(part: Sequences, count: int, sorted_by_length: bool) -> Sequences:
    """Return `count` sequences: those of middle length, or any."""
    if sorted_by_length:
        order = part.lengths.argsort(stable=True)
        start = max(0, (len(part) - count) // 2)
        return part.take(order[start : start + count])
    return part.take(torch.randperm(len(part), generator=torch.Generator().manual_seed(0))[:count])


def _network(experiment: Experiment, row: Row, split: Split) -> nn.Module:
    if not isinstance(row.model, NetworkModel) or row.settings is None:
        raise TypeError(f"`row` must be of a network with settings; {row.title} is none")
    return row.model.network(Run(experiment.task, split, True, 0, Path()), row.settings)


def _pass(experiment: Experiment, row: Row, network: Any, part: Sequences) -> Step:
    """Return what trains the network on a part once, batch by batch."""
    settings = row.settings
    if settings is None:
        raise TypeError(f"`row` must have settings; {row.title} has none")
    parameters = list(network.parameters())
    optimizer: Any = OPTIMIZERS[settings.optimizer](parameters, lr=settings.base_lr)  # type: ignore[call-arg]
    batches = [part.take(rows) for rows in torch.split(torch.arange(len(part)), settings.batch_size)]

    def run() -> None:
        for batch in batches:
            optimizer.zero_grad()
            loss = network.with_own_loss(experiment.task.loss(network(batch), batch, settings.class_weight))
            (loss.total / loss.weight).backward()
            if settings.clipnorm > 0:
                clip_each([p.grad for p in parameters if p.grad is not None], float(settings.clipnorm))
            optimizer.step()

    return run
