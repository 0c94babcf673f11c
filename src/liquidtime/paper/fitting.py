"""One run of one model: trained, judged on the test part, with everything a result file tells of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from liquidtime.baselines import SequenceModel
from liquidtime.data.encoding.batches import plan_batches
from liquidtime.layers import Recurrent
from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.network import Discrete, SequenceNetwork
from liquidtime.paper.settings import Settings
from liquidtime.paper.task import Task
from liquidtime.training import METRICS, TrainingDiverged, TrainResult, TrainSettings, isolated_rng, read_log, train

EVALUATED = 512
"""Sequences at once where nothing is learned."""
PERFECT_EPOCHS = 5
"""How many epochs in a row with a perfect validation part end a seed."""
RISING = 0.01
"""By how much more the last tenth of the epochs betters validation where a seed goes on at `Task.least_rate`."""
BUCKET = 32
"""Batches that are sorted by length together."""
PENALISED = ("*.backbone.layers.*.weight", "*.heads.weight")


@dataclass(frozen=True)
class Run:
    """What is run.

    Attributes:
        task: what is asked.
        split: the data.
        honest: whether the data is taken as it is, and the best validation epoch is reported; else the last.
        seed: of everything random.
        folder: for checkpoints; a run that was cut short goes on from there.
        progress: show a progress line; None = only on a terminal.
        kept: folder for weights and pictures that other runs and figures need; None keeps none.
        last_epoch: report the last epoch of an honest run too; it needs no validation part.

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
        if not self.honest or self.last_epoch:
            return None
        if self.split.validation is None:
            raise ValueError("the honest protocol needs a validation part; this split has none.")
        return self.split.validation


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        prediction: of the test part, as the task's metric takes it.
        history: one record an epoch.
        epochs: done.
        best_epoch: from 0, None where none was chosen.
        best_metric: on the validation part.
        stopped: "finished", "early", "target", "spent" (the rate, `Task.least_rate`) or "diverged".
        weights: that were trained.
        train_settings: of the loop.
        figures: anything else that was measured.

    """

    prediction: npt.NDArray[np.float64]
    history: list[dict[str, Any]]
    epochs: int
    best_epoch: int | None
    best_metric: float | None
    stopped: str
    weights: int
    train_settings: dict[str, Any]
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkModel:
    """A network and how it is named.

    Attributes:
        title: as our tables write it.
        paper: as the paper's tables write it, any of these; empty where it is in none.
        make: (D, settings, task) -> the recurrent part.
        penalised: whether `weight_decay` as a penalty is for its backbone and heads.
        dt_without_time: what the reference feeds as dt where time does not matter.
        prepare: sets what the recurrent part needs to know of the training data, if anything.

    """

    title: str
    paper: tuple[str, ...]
    make: Callable[[int, Settings, Task], Recurrent | Discrete | SequenceModel]
    penalised: bool = False
    dt_without_time: float = 1.0
    prepare: Callable[[nn.Module, Sequences], None] | None = None

    def network(self, run: Run, settings: Settings) -> SequenceNetwork:
        """Return the whole network, its weights drawn from the run's seed."""
        task, train_part = run.task, run.split.train
        embedding = None
        if task.words is not None and settings.embed_dim is not None:
            embedding = (task.words, settings.embed_dim)
        width = train_part.x.shape[2] if embedding is None else embedding[1]
        with isolated_rng(run.seed):
            network = SequenceNetwork(
                self.make(width, settings, task),
                task.outputs,
                per_step=task.per_step,
                embedding=embedding,
                embedding_dropout=settings.embed_dr or 0.0,
                fixed_dt=None if task.has_time or run.honest else self.dt_without_time,
                time_scale=1.0 if settings.time_scale is None else settings.time_scale,
                any_dt=bool((train_part.dt < 0).any()),
            )
        if self.prepare is not None:
            self.prepare(network.recurrent, train_part)
        return network

    def fit(self, run: Run, settings: Settings | None) -> Outcome:
        """Train and judge the network."""
        if settings is None:
            raise ValueError(f"`settings` must be given for {self.title}; it has none of its own.")
        task, split, held = run.task, run.split, run.held
        network = self.network(run, settings)
        loop = train_settings(settings, task, run.seed, penalised=self.penalised)
        if held is not None:
            worthwhile = task.worthwhile(settings.epochs, settings.base_lr, settings.decay_lr)
            patience = task.patience if worthwhile == settings.epochs else 0
            loop = dataclasses.replace(loop, patience=patience, epochs=worthwhile)
            if task.perfect is not None:
                loop = dataclasses.replace(loop, target=task.perfect, target_epochs=PERFECT_EPOCHS)
        batches = Shuffled(
            split.train, settings.batch_size, settings.like_lengths or False, settings.growing_epochs or 0
        )

        def objective(model: nn.Module, batch: Sequences) -> Any:
            return network.with_own_loss(task.loss(model(batch), batch, settings.class_weight))

        validate = None
        if held is not None:

            def validate(model: nn.Module) -> dict[str, float]:
                return {task.metric: task.score(task.target(held), predict(model, task, held))}

        def trained(loop: TrainSettings) -> TrainResult:
            return train(
                network,
                objective,
                batches,
                loop,
                validate=validate,
                folder=run.folder,
                resume=True,
                progress=run.progress,
            )

        try:
            result = trained(loop)
            spent = result.stopped == "finished" and loop.epochs < settings.epochs
            if spent and _still_rising(task, result.history[: loop.epochs]):
                loop, spent = dataclasses.replace(loop, epochs=settings.epochs, patience=task.patience), False
                result = trained(loop)
            history, epochs, stopped = result.history, result.epochs, "spent" if spent else result.stopped
            best_epoch, best_metric = result.best_epoch, result.best_metric
        except TrainingDiverged:
            history = read_log(run.folder)
            epochs, best_epoch, best_metric, stopped = len(history), None, None, "diverged"
        penalty = history[-1].get("penalty") if history else None
        return Outcome(
            predict(network, task, split.test),
            history,
            epochs,
            best_epoch,
            best_metric,
            stopped,
            sum(parameter.numel() for parameter in network.parameters()),
            loop.to_dict(),
            {} if penalty is None else {"penalty": penalty},
        )


def _still_rising(task: Task, history: list[dict[str, Any]]) -> bool:
    """Whether the last tenth of the epochs has a validation metric better by more than `RISING` than any before."""
    sign = 1.0 if METRICS[task.metric].higher_is_better else -1.0
    values = [sign * record[f"val_{task.metric}"] for record in history]
    last = math.ceil(len(values) / 10)
    return len(values) > last and max(values[-last:]) - max(values[:-last]) > RISING


def train_settings(settings: Settings, task: Task, seed: int, *, penalised: bool) -> TrainSettings:
    """Return the loop's settings for a column of the paper's tables.

    Args:
        settings: the column.
        task: whose framework says what the weight decay is and when the rate falls.
        seed: of the run.
        penalised: whether the network has the weights that the L2 penalty is for.

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


@dataclass(frozen=True)
class Shuffled:
    """The batches of an epoch, in an order drawn from the epoch's generator, each cut to its longest sequence.

    Attributes:
        data: the sequences.
        batch_size: of them, in a batch.
        bucketed: whether runs of `BUCKET` batches are sorted by length before they are cut and shuffled again.
        growing: epochs in which sequences are drawn, with replacement, from those up to a length that grows from
            just above the shortest to the longest, from one run of `BUCKET` batches to the next.

    """

    data: Sequences
    batch_size: int
    bucketed: bool = False
    growing: int = 0

    def __call__(self, epoch: int, generator: torch.Generator) -> _Epoch:
        """Return the batches of an epoch."""
        if epoch < self.growing:
            return self._grown(epoch, generator)
        if not self.bucketed:
            order = torch.randperm(len(self.data), generator=generator)
            return _Epoch(self.data, torch.split(order, self.batch_size))
        rng = np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))
        plan = plan_batches(self.data.lengths.numpy(), np.arange(len(self.data)), self.batch_size, rng, BUCKET)
        return _Epoch(self.data, tuple(torch.from_numpy(rows) for rows in plan))

    def _grown(self, epoch: int, generator: torch.Generator) -> _Epoch:
        N, lengths = len(self.data), self.data.lengths
        shortest, longest = int(lengths.min()), int(lengths.max())
        sizes = [len(piece) for piece in torch.split(torch.arange(N), self.batch_size * BUCKET)]
        batches: list[Tensor] = []
        for place, size in enumerate(sizes):
            grown = (epoch + place / len(sizes)) / self.growing  # 0…1
            cap = shortest + 1 + int(grown * (longest - shortest))
            allowed = torch.nonzero(lengths <= cap)[:, 0]
            rows = allowed[torch.randint(len(allowed), (size,), generator=generator)]
            pieces = torch.split(rows[lengths[rows].argsort(stable=True)], self.batch_size)
            batches += [pieces[i] for i in torch.randperm(len(pieces), generator=generator).tolist()]
        return _Epoch(self.data, tuple(batches))


@dataclass(frozen=True)
class _Epoch:
    data: Sequences
    rows: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Sequences]:
        return (self.data.take(rows) for rows in self.rows)


def predict(model: nn.Module, task: Task, part: Sequences) -> npt.NDArray[np.float64]:
    """Return the predictions (N, ·) of a part, in its order."""
    was_training = model.training
    model.eval()
    with torch.no_grad():
        blocks = torch.split(torch.arange(len(part)), EVALUATED)
        found = [task.prediction(model(part.take(rows))) for rows in blocks]
    model.train(was_training)
    values: npt.NDArray[np.float64] = torch.cat(found).double().numpy()
    return values
