"""The recurrent networks of the tables: created from settings, trained, and tested on the test part."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from liquidtime.baselines import SequenceModel
from liquidtime.layers import Recurrent
from liquidtime.paper.datasets import Sequences
from liquidtime.paper.fitting import (
    Outcome,
    Settings,
    Shuffled,
    Task,
    Training,
    Trial,
    count_weights,
    fit_network,
    predict,
    train_settings,
)
from liquidtime.paper.models.network import Discrete, SequenceNetwork
from liquidtime.training import METRICS, TrainSettings, isolated_rng

PERFECT_EPOCHS = 5
"""Number of consecutive epochs with perfect validation after which a seed stops."""
RISING = 0.01
"""Improvement of validation in the last tenth of the epochs from which a seed continues at `Task.least_rate`."""


@dataclass(frozen=True)
class NetworkModel:
    """A network and its names.

    Attributes:
        title: title in our tables.
        paper: titles in the paper's tables; empty if it is in none.
        make: (D, settings, task) -> the recurrent part.
        penalised: whether `weight_decay`, as a penalty, applies to its backbone and heads.
        dt_without_time: the value that the reference uses as dt if time does not matter.
        prepare: passes statistics of the training data to the recurrent part, if it needs any.

    """

    title: str
    paper: tuple[str, ...]
    make: Callable[[int, Settings, Task], Recurrent | Discrete | SequenceModel]
    penalised: bool = False
    dt_without_time: float = 1.0
    prepare: Callable[[nn.Module, Sequences], None] | None = None

    def network(self, trial: Trial, settings: Settings) -> SequenceNetwork:
        """Return the whole network, with initial weights from the trial's seed."""
        task, train_part = trial.task, trial.split.train
        embedding = None
        if task.words is not None and settings.embed_dim is not None:
            embedding = (task.words, settings.embed_dim)
        width = train_part.x.shape[2] if embedding is None else embedding[1]
        with isolated_rng(trial.seed):
            network = SequenceNetwork(
                self.make(width, settings, task),
                task.outputs,
                per_step=task.per_step,
                embedding=embedding,
                embedding_dropout=settings.embed_dr or 0.0,
                fixed_dt=None if task.has_time or trial.honest else self.dt_without_time,
                time_scale=1.0 if settings.time_scale is None else settings.time_scale,
                any_dt=bool((train_part.dt < 0).any()),
            )
        if self.prepare is not None:
            self.prepare(network.recurrent, train_part)
        return network

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Train and test the network."""
        if settings is None:
            raise ValueError(f"`settings` must be given for {self.title}; it has none of its own.")
        return self.train(trial, settings)[1]

    def train(self, trial: Trial, settings: Settings) -> tuple[SequenceNetwork, Outcome]:
        """Train and test the network, and return it with the result."""
        task, split, held = trial.task, trial.split, trial.held
        network = self.network(trial, settings)
        loop = train_settings(settings, task, trial.seed, penalised=self.penalised)
        if held is not None:
            worthwhile = task.worthwhile(settings.epochs, settings.base_lr, settings.decay_lr)
            patience = task.patience if worthwhile == settings.epochs else 0
            loop = dataclasses.replace(loop, patience=patience, epochs=worthwhile)
            if task.perfect is not None:
                loop = dataclasses.replace(loop, target=task.perfect, target_epochs=PERFECT_EPOCHS)
        batches = Shuffled(
            split.train, settings.batch_size, settings.like_lengths or False, settings.growing_epochs or 0
        )

        def fitted(loop: TrainSettings) -> Training:
            return fit_network(
                network,
                trial,
                batches,
                loop,
                held_out=held,
                folder=trial.folder,
                class_weight=settings.class_weight,
                complete=network.with_own_loss,
            )

        training = fitted(loop)
        spent = training.stopped == "finished" and loop.epochs < settings.epochs
        if spent and _still_rising(task, training.history[: loop.epochs]):
            loop, spent = dataclasses.replace(loop, epochs=settings.epochs, patience=task.patience), False
            training = fitted(loop)
        penalty = training.history[-1].get("penalty") if training.history else None
        return network, Outcome(
            prediction=predict(network, task, split.test),
            weights=count_weights(network),
            train_settings=loop.to_dict(),
            history=training.history,
            epochs=training.epochs,
            best_epoch=training.best_epoch,
            best_metric=training.best_metric,
            stopped="spent" if spent else training.stopped,
            figures={} if penalty is None else {"penalty": penalty},
        )


def _still_rising(task: Task, history: list[dict[str, Any]]) -> bool:
    """Return whether validation improved by more than `RISING` in the last tenth of the epochs."""
    sign = 1.0 if METRICS[task.metric].higher_is_better else -1.0
    values = [sign * record[f"val_{task.metric}"] for record in history]
    last = math.ceil(len(values) / 10)
    return len(values) > last and max(values[-last:]) - max(values[:-last]) > RISING
