"""Train a network of an experiment on its task: settings of the loop, objective, and result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from liquidtime.paper.datasets import Sequences
from liquidtime.paper.fitting.settings import Settings
from liquidtime.paper.fitting.task import Task
from liquidtime.paper.fitting.trial import Trial
from liquidtime.training import Loss, TrainingDiverged, TrainSettings, read_log, train

EVALUATED = 512
"""Number of sequences at once outside of training."""
PENALISED = ("*.backbone.layers.*.weight", "*.heads.weight")

Batches = Callable[[int, torch.Generator], Iterable[Sequences]]


@dataclass(frozen=True, kw_only=True)
class Training:
    """The result of training a network.

    Attributes:
        history: one record per epoch.
        epochs: number of epochs that were run.
        best_epoch: the chosen epoch, from 0; None if none was chosen.
        best_metric: its metric on the validation part.
        stopped: "finished", "early", "target" or "diverged".

    """

    history: list[dict[str, Any]]
    epochs: int
    best_epoch: int | None
    best_metric: float | None
    stopped: str


def fit_network(
    network: nn.Module,
    trial: Trial,
    batches: Batches,
    loop: TrainSettings,
    *,
    held_out: Sequences | None,
    folder: Path,
    class_weight: float | None = None,
    complete: Callable[[Loss], Loss] = lambda loss: loss,
) -> Training:
    """Train a network in place on the task of a trial; if it diverges, return what the log has.

    Args:
        network: maps Sequences to outputs.
        trial: trial with the task.
        batches: (epoch, generator) -> the batches of an epoch.
        loop: settings of the loop.
        held_out: part on which the epoch is chosen; None for the last epoch.
        folder: folder for checkpoints, from which interrupted training resumes.
        class_weight: weight of class 1 in the loss, where class 0 has 1; None if both have 1.
        complete: adds to the loss a term of the network's own.

    """
    task = trial.task

    def objective(model: nn.Module, batch: Sequences) -> Loss:
        return complete(task.loss(model(batch), batch, class_weight))

    validate = None
    if held_out is not None:

        def validate(model: nn.Module) -> dict[str, float]:
            return {task.metric: task.score(task.target(held_out), predict(model, task, held_out))}

    try:
        result = train(
            network,
            objective,
            batches,
            loop,
            validate=validate,
            folder=folder,
            resume=True,
            progress=trial.progress,
        )
    except TrainingDiverged:
        history = read_log(folder)
        return Training(history=history, epochs=len(history), best_epoch=None, best_metric=None, stopped="diverged")
    return Training(
        history=result.history,
        epochs=result.epochs,
        best_epoch=result.best_epoch,
        best_metric=result.best_metric,
        stopped=result.stopped,
    )


def train_settings(settings: Settings, task: Task, seed: int, *, penalised: bool) -> TrainSettings:
    """Return the settings of the loop for a column of the paper's tables.

    Args:
        settings: column of a table.
        task: task, whose framework decides about weight decay and the steps of the rate.
        seed: random seed of the run.
        penalised: whether the network has the weights to which the L2 penalty applies.

    """
    framework = task.framework
    values: dict[str, Any] = {}
    if settings.optimizer == "rmsprop":
        values |= {"smoothing": framework.smoothing, "epsilon": framework.epsilon}
    if settings.decay_lr is not None:
        values |= {"decay": settings.decay_lr, "schedule_every": framework.rate_every}
    if settings.clipnorm > 0:
        values |= {"clip_norm": float(settings.clipnorm), "clip": "each"}
    if framework.decoupled:
        values["weight_decay"] = settings.weight_decay
    elif penalised and settings.weight_decay > 0:
        values |= {"l2_penalty": settings.weight_decay, "l2_parameters": PENALISED}
    return TrainSettings(
        epochs=settings.epochs,
        seed=seed,
        optimizer=settings.optimizer,
        learning_rate=settings.base_lr,
        schedule=settings.schedule,
        monitor=task.metric,
        **values,
    )


def predict(model: nn.Module, task: Task, part: Sequences) -> npt.NDArray[np.float64]:
    """Return the predictions (N, ·) for a part, in its order."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        blocks = torch.split(torch.arange(len(part)), EVALUATED)
        outputs = [task.prediction(model(part.take(rows))) for rows in blocks]
    model.train(was_training)
    values: npt.NDArray[np.float64] = torch.cat(outputs).double().numpy()
    return values


def count_weights(*modules: nn.Module) -> int:
    """Return the number of weights of networks."""
    return sum(parameter.numel() for module in modules for parameter in module.parameters())
