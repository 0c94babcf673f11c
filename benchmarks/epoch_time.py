"""How long is a training epoch of each model of the paper's tables, beside CfC's and the LSTM's?

    LIQUIDTIME_DATA=folder python -m benchmarks.epoch_time [EXPERIMENT …] [--threads 1] [--seconds 100] [--out results]

Every network of an experiment, and the ODE-RNN with an adaptive solver, takes the same sequences with its own settings,
in turns. Writes `epoch_time.json`; `liquidtime paper table` shows it below the results.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

from liquidtime.baselines.recurrent import ODERNNCell
from liquidtime.layers import Recurrent
from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.experiments.experiment import HONEST, Experiment, Row
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models.network_model import NetworkModel
from liquidtime.paper.pages.epoch_times import FILE, read
from liquidtime.paper.runner.results import surroundings, write_result
from liquidtime.training.clipping import clip_each
from liquidtime.training.settings import OPTIMIZERS

ADAPTIVE = "ode_rnn_dopri5"
"""The ODE-RNN with the adaptive solver of its paper, timed wherever there is a row of the one with fixed steps."""

Step = Callable[[], None]


def timed_rows(experiment: Experiment) -> dict[str, Row]:
    """Return the rows that are trained batch by batch, and the ODE-RNN with the adaptive solver."""
    trained = {name: row for name, row in experiment.rows.items() if row.average is None and row.search is None}
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
    log: Callable[[str], None] = lambda text: None,
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
        log: called with one line per model.

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
        log(f"{experiment.name} {name}: {models[name]['seconds_per_epoch']:.2f} s an epoch")
    return {"sequences": sequences, "timed": count, "models": models, **surroundings(torch.get_num_threads(), 1)}


def write(out: str | Path, name: str, record: dict[str, Any]) -> Path:
    """Put an experiment's record into the file of all, beside the others', and return its path."""
    path = Path(out) / FILE
    write_result(path, {**read(out), name: record})
    return path


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
    trial = Trial(task=experiment.task, split=split, honest=True, seed=0, folder=Path())
    return row.model.network(trial, row.settings)


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


def main() -> None:
    """Measure the experiments that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    timed = [name for name, experiment in EXPERIMENTS.items() if timed_rows(experiment)]
    parser.add_argument("experiments", nargs="*", help=f"of {', '.join(timed)}; all, if none is named")
    parser.add_argument("--data-dir", help="folder with the data")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5, help="rounds at most")
    parser.add_argument("--seconds", type=float, default=100.0, help="after which no further round is begun")
    parser.add_argument("--out", default="results")
    asked = parser.parse_args()
    for name in asked.experiments:
        if name not in timed:
            parser.error(f"{name} is none of {', '.join(timed)}")
    torch.set_num_threads(asked.threads)
    for name in asked.experiments or timed:
        record = measure(
            EXPERIMENTS[name], data_dir=asked.data_dir, repeats=asked.repeats, seconds=asked.seconds, log=print
        )
        print(write(asked.out, name, record))


if __name__ == "__main__":
    main()
