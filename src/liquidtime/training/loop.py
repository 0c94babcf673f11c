"""The training loop: one for estimators, experiments and users."""

from __future__ import annotations

import itertools
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from liquidtime._checks import DeferredChecks, deferred_checks
from liquidtime.errors import nearest
from liquidtime.files.folders import previous_of
from liquidtime.files.whole_files import SaveFailed
from liquidtime.training.agreement import agreed, digest_of, told
from liquidtime.training.checkpoint import (
    RunState,
    load_model_tensors,
    model_tensors,
    read_checkpoint,
    restore_checkpoint,
    save_checkpoint,
)
from liquidtime.training.clipping import CLIPPING, total_norm
from liquidtime.training.devices import device_of, moving, placed
from liquidtime.training.divergence import (
    MOST_SKIPPED,
    LastGood,
    TrainingDiverged,
    first_not_finite,
    loss_fault,
    row_ids,
)
from liquidtime.training.log import RunLog
from liquidtime.training.objective import Loss, as_loss
from liquidtime.training.progress import ProgressLine
from liquidtime.training.ranks import Ranks, check_shared, current
from liquidtime.training.run_folder import CHECKPOINT, held_folder, remove_leftovers
from liquidtime.training.schedule import rate_factor
from liquidtime.training.seeds import RandomState, derive_seed, isolated_rng, seed_everything
from liquidtime.training.settings import OPTIMIZERS, WITH_MOMENTUM, TrainSettings
from liquidtime.training.shared_step import SharedStep, read_step
from liquidtime.training.signals import StopRequest, TrainingInterrupted, stop_requests

Batch = TypeVar("Batch")
Batches: TypeAlias = Callable[[int, torch.Generator], Iterable[Batch]]
"""Maps (epoch, generator) to the batches of that epoch, in an order drawn from the generator only."""
Objective: TypeAlias = Callable[[nn.Module, Batch], Loss | Tensor]
"""Maps (model, batch) to a `Loss`, or to a scalar mean (each batch then weighs the same)."""
Validate: TypeAlias = Callable[[nn.Module], Mapping[str, float]]
"""Maps the model, in eval mode and without gradients, to metrics by name."""


@dataclass(frozen=True)
class TrainResult:
    """The result of a run.

    Args:
        history: one record per epoch: epoch, step, loss, rate, seconds, and `val_…` for each validation metric.
        epochs: number of epochs.
        steps: number of optimiser steps.
        best_epoch: the epoch (from 0) with the best validation metric; None without validation.
        best_metric: its validation metric.
        stopped: "finished", "early" (`patience`), or "target" if the metric was good enough.
        skipped: number of steps without an update, because their gradient was not finite.
    """

    history: list[dict[str, Any]]
    epochs: int
    steps: int
    best_epoch: int | None
    best_metric: float | None
    stopped: str
    skipped: int = 0


def train(
    model: nn.Module,
    objective: Objective[Batch],
    batches: Batches[Batch],
    settings: TrainSettings | None = None,
    *,
    validate: Validate | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    ranks: Ranks | None = None,
    device: str | torch.device | None = None,
) -> TrainResult:
    """Train a model in place.

    Each step minimises total / weight of one batch. With `validate`, the model ends with the weights of the best epoch,
    otherwise with the last ones. All random choices follow from `settings.seed`, and the caller's random state does not
    change. The same call gives the same bits on the same machine with the same number of threads. A step whose loss is
    finite but whose gradient is not changes no weight; many such steps in a row end the run. Within `tracking`,
    trackers are called after every epoch.

    Args:
        model: its parameters with `requires_grad` are trained; its mode (train or eval) is restored afterwards.
        objective: (model, batch) -> `Loss`. A batch of weight 0 changes nothing.
        batches: (epoch, generator) -> the batches of an epoch. A batch may have `ids`, which are named if training
            diverges.
        settings: see `TrainSettings`.
        validate: (model) -> metrics; the one in `settings.monitor` decides which epoch is best.
        folder: folder for checkpoints and the log; None for neither.
        resume: resume from the checkpoint in the folder, if any; the result has the bits of an uninterrupted run.
        progress: whether to show a progress line; None: only if standard error is a terminal.
        ranks: processes that make this call together, each with `batches` of its own rows (with their `share` of the
            whole batch). Losses and gradients are summed over the ranks before each step, so that the result depends
            on their number only by rounding. Rank 0 writes the files, and another number of ranks may resume. None for
            the ranks of the surrounding `joined` block, or else this process alone.
        device: "auto", "cpu", "cuda" or "mps". The model is moved there for training and validation, and back at the
            end; so are the tensors of batches. The host waits for the device once per step. None for the device that
            the model is on.

    Raises:
        RanksDisagree: ranks were started with different settings or weights, or rank 0 could not use its folder.
        TrainingDiverged: a loss became NaN, infinite or far too large, or the gradients of many steps in a row were
            not finite.
        TrainingInterrupted: SIGTERM or Ctrl-C stopped a run that has a folder; the run was saved.
        FolderInUse: another run is using the folder.
        FileExistsError: the folder has a run and `resume` is False.
        ValueError: settings, batches and checkpoint do not fit together.

    """
    settings = settings if settings is not None else TrainSettings()
    for name, asked in (("patience", settings.patience > 0), ("target", settings.target is not None)):
        if asked and validate is None:
            raise ValueError(f"`{name}` needs `validate`: without a validation part there is nothing to stop on.")
    if resume and folder is None:
        raise ValueError("`resume` needs the `folder` of the run.")
    ranks = current() if ranks is None else ranks
    check_shared(model, ranks)
    place = None if device is None else device_of(device)
    home = Path(folder) if folder is not None else None
    writes = home if ranks.rank == 0 else None
    was_training = model.training
    with ExitStack() as stack:
        stack.enter_context(isolated_rng(settings.seed))
        stop = stack.enter_context(stop_requests(catch=home is not None))
        stack.callback(model.train, was_training)
        stack.enter_context(placed(model, place))
        if place is not None:
            objective = moving(objective, place)
        run = _Run(model, objective, batches, settings, validate, home, stop, ranks)
        with told(ranks):
            if writes is not None:
                stack.enter_context(held_folder(writes))
                run.open(writes / CHECKPOINT, resume)
        run.restore()
        run.log = RunLog(writes, run.state.history)
        shown = progress if ranks.rank == 0 else False
        run.line = stack.enter_context(ProgressLine(shown, settings.epochs, settings.monitor if validate else ""))
        while not run.state.stopped:
            run.epoch()
        return run.result()


class _Run:
    def __init__(
        self,
        model: nn.Module,
        objective: Objective[Any],
        batches: Batches[Any],
        settings: TrainSettings,
        validate: Validate | None,
        folder: Path | None,
        stop: StopRequest,
        ranks: Ranks,
    ) -> None:
        self.model, self.objective, self.batches, self.settings = model, objective, batches, settings
        self.validate, self.folder, self.stop = validate, folder, stop
        self.shared = SharedStep(ranks, stop)
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not self.parameters:
            raise ValueError("`model` has no parameter with requires_grad; there is nothing to train.")
        self.penalised = _matching(model, settings.l2_parameters)
        self.optimizer = _optimizer(self.parameters, settings)
        self.state = RunState()
        self.good = LastGood(model)
        self.random: RandomState | None = None
        self.checkpoint: Path | None = None
        self.files: dict[str, bytes] = {}
        self.log: RunLog
        self.line: ProgressLine

    def open(self, checkpoint: Path, resume: bool) -> None:
        self.checkpoint = checkpoint
        remove_leftovers(checkpoint.parent)
        present = checkpoint.exists() or previous_of(checkpoint).exists()
        if present and not resume:
            raise FileExistsError(
                f"`folder` {checkpoint.parent} already has a run. Pass resume=True to resume it, or choose another "
                "folder."
            )
        if present:
            self.files = read_checkpoint(checkpoint, self.model)

    def restore(self) -> None:
        """Start from the checkpoint that rank 0 has read, if there is one."""
        digest = digest_of(self.settings.to_dict(), model_tensors(self.model))
        files = agreed(self.shared.ranks, digest, self.files)
        self.files = {}
        if files:
            self.state, self.random = restore_checkpoint(files, self.settings, self.model, self.optimizer)
            self.good.keep()
            if self.state.stopped == "finished" and self.state.epoch < self.settings.epochs:
                self.state.stopped = ""

    def epoch(self) -> None:
        state, settings = self.state, self.settings
        begun = time.perf_counter()
        self.model.train()
        seed_everything(derive_seed(settings.seed, state.epoch))  # random draws of the validation have no effect
        generator = torch.Generator().manual_seed(derive_seed(settings.seed, state.epoch, 1))
        source = self.batches(state.epoch, generator)
        steps = len(source) if isinstance(source, Sized) else None
        iterator = iter(source)
        for _ in itertools.islice(iterator, state.step):
            pass  # steps before the interruption; drawing their batches again restores the state of `generator`
        if state.step and self.random is not None:
            self.random.restore()
        self.random = None
        rate = settings.learning_rate
        for batch in iterator:
            rate = settings.learning_rate * rate_factor(
                settings.schedule,
                state.epoch,
                state.step,
                steps,
                epochs=settings.epochs,
                decay=settings.decay,
                every=settings.schedule_every,
            )
            self.step(batch, rate)
            state.step += 1
            state.total_steps += 1
            self.line.update(state.epoch, state.step / steps if steps else 0.0, self._mean_loss(), rate)
            wanted = settings.checkpoint_every > 0 and state.total_steps % settings.checkpoint_every == 0
            if self.shared.asked or (wanted and state.step != steps):
                self.save_or_stop()
        if state.step == 0:
            raise ValueError(f"`batches` returned no batch for epoch {state.epoch}; the training part is empty.")
        self.finish_epoch(rate, time.perf_counter() - begun)
        self.save_or_stop()

    def step(self, batch: Any, rate: float) -> None:
        settings, state = self.settings, self.state
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        checks = DeferredChecks()
        with self.shared.of(batch) as share, deferred_checks(checks):
            loss = as_loss(self.objective(self.model, batch))
            summed, weight = self.shared.backward(loss, self.parameters, share)
        if weight == 0:
            return
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        with torch.no_grad():
            for gradient in gradients:
                gradient.div_(weight)
            for parameter in self.penalised:
                if parameter.grad is not None:
                    parameter.grad.add_(parameter, alpha=2.0 * settings.l2_penalty)
        total, norm = read_step(summed, total_norm(gradients), checks)
        mean = total / weight
        fault = loss_fault(mean, mean if state.first_loss is None else state.first_loss)
        state.skipped_in_a_row = 0 if math.isfinite(norm) else state.skipped_in_a_row + 1
        if fault is None and state.skipped_in_a_row >= MOST_SKIPPED:
            fault = f"the norm of the gradient is {norm}, and was not finite for {MOST_SKIPPED} steps in a row,"
        if fault is not None:
            raise self.diverged(fault, row_ids(batch))
        if state.skipped_in_a_row:
            state.skipped += 1
        else:
            if settings.clip_norm > 0:
                CLIPPING[settings.clip](gradients, settings.clip_norm)
            self.good.keep()
            self.optimizer.step()
        if state.first_loss is None:
            state.first_loss = mean
        state.loss_total += total
        state.loss_weight += weight

    def diverged(self, fault: str, ids: list[Any]) -> TrainingDiverged:
        culprit = first_not_finite(self.model)
        self.good.restore()
        return TrainingDiverged(fault, self.state.epoch, self.state.total_steps, ids, culprit)

    def finish_epoch(self, rate: float, seconds: float) -> None:
        state, settings = self.state, self.settings
        record: dict[str, Any] = {
            "epoch": state.epoch,
            "step": state.total_steps,
            "loss": self._mean_loss(),
            "rate": rate,
            "seconds": round(seconds, 6),
        }
        if self.penalised:
            record["penalty"] = settings.l2_penalty * sum(float(p.detach().square().sum()) for p in self.penalised)
        if state.skipped:
            record["skipped"] = state.skipped
        if self.validate is not None:
            record |= self._validated(self.validate)
        state.history.append(record)
        self.log.write(record)
        state.epoch, state.step, state.skipped, state.loss_total, state.loss_weight = state.epoch + 1, 0, 0, 0.0, 0.0
        if settings.patience and state.without_better >= settings.patience:
            state.stopped = "early"
        elif self._on_target():
            state.stopped = "target"
        elif state.epoch >= settings.epochs:
            state.stopped = "finished"

    def _on_target(self) -> bool:
        settings, last = self.settings, self.state.history[-self.settings.target_epochs :]
        if settings.target is None or len(last) < settings.target_epochs:
            return False
        found: list[float] = [record[f"val_{settings.monitor}"] for record in last]
        return min(found) >= settings.target if settings.higher_is_better() else max(found) <= settings.target

    def _validated(self, validate: Validate) -> dict[str, float]:
        state, settings = self.state, self.settings
        self.model.eval()
        with torch.no_grad():
            metrics = {name: float(value) for name, value in validate(self.model).items()}
        if settings.monitor not in metrics:
            listed = ", ".join(f"`{name}`" for name in metrics) or "nothing"
            near = nearest(settings.monitor, metrics)
            raise ValueError(f"`monitor` is {settings.monitor!r}, but `validate` returned {listed}{near}")
        value = metrics[settings.monitor]
        gain = 0.0 if state.best_metric is None else value - state.best_metric
        if not settings.higher_is_better():
            gain = -gain
        if math.isfinite(value) and (state.best_metric is None or gain > 0.0):
            state.best_metric, state.best_epoch, state.without_better = value, state.epoch, 0
            state.best = {name: tensor.clone() for name, tensor in model_tensors(self.model).items()}
        else:
            state.without_better += 1
        self.line.validated(value, state.best_metric)
        return {f"val_{name}": number for name, number in metrics.items()}

    def save_or_stop(self) -> None:
        if self.folder is not None and not all(bool(torch.isfinite(weights).all()) for weights in self.parameters):
            raise self.diverged("a weight is not finite", [])
        saved = self.checkpoint is None or self._save(self.checkpoint)
        asked = self.shared.asked
        if asked is not None and self.folder is not None and not self.state.stopped:
            self.shared.ranks.barrier()  # no rank ends before the last step is saved
            stopped = TrainingInterrupted(asked, self.state.total_steps, self.folder, saved)
            if self.checkpoint is not None:
                print(stopped, file=sys.stderr)
            raise stopped

    def _save(self, checkpoint: Path) -> bool:
        try:
            save_checkpoint(checkpoint, self.state, self.settings, self.model, self.optimizer)
        except SaveFailed as error:
            warnings.warn(f"{error.strerror} Training continues.", stacklevel=4)
            return False
        return True

    def result(self) -> TrainResult:
        state = self.state
        if state.best:
            load_model_tensors(self.model, state.best, "the best epoch")
        skipped = sum(record.get("skipped", 0) for record in state.history)
        best = state.best_epoch, state.best_metric
        return TrainResult(state.history, state.epoch, state.total_steps, *best, state.stopped, skipped)

    def _mean_loss(self) -> float:
        return self.state.loss_total / self.state.loss_weight if self.state.loss_weight else math.nan


def _optimizer(parameters: list[nn.Parameter], settings: TrainSettings) -> torch.optim.Optimizer:
    extra = {"momentum": settings.momentum} if settings.optimizer in WITH_MOMENTUM else {}
    if settings.optimizer != "sgd":
        extra["eps"] = settings.epsilon
    if settings.optimizer == "rmsprop":
        extra["alpha"] = settings.smoothing
    build: Any = OPTIMIZERS[settings.optimizer]
    made: torch.optim.Optimizer = build(
        parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, **extra
    )
    return made


def _matching(model: nn.Module, patterns: tuple[str, ...]) -> list[nn.Parameter]:
    """Return the trained parameters whose names match a pattern; refuse a pattern that matches none."""
    named = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in named):
            raise ValueError(f"`l2_parameters` has {pattern!r}, which no parameter matches{nearest(pattern, named)}")
    return [p for name, p in named.items() if any(fnmatchcase(name, pattern) for pattern in patterns)]
