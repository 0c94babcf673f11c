"""Checkpoints: everything a run needs to continue as if it had never stopped, in one folder with checksums."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from liquidtime.files.bounded import DamagedFolder, json_from_bytes
from liquidtime.files.contents import json_to_bytes, tensors_from_bytes, tensors_to_bytes
from liquidtime.files.folders import read_newest, write_folder
from liquidtime.training.seeds import RandomState
from liquidtime.training.settings import TrainSettings

FORMAT = 1
STATE, TENSORS, HOME = "state.json", "tensors.safetensors", "home"
_LARGEST_STATE, _STATE_VALUES = 1 << 25, 1_000_000
_COPIES, _SPARE = 12, 1 << 24
"""Bound on the size of a checkpoint: this many times the model, for the best epoch and the moments, and some bytes."""


_NUMBER = (int, float)
_OPTIONAL: dict[str, Any] = {
    "loss_total": _NUMBER,
    "loss_weight": _NUMBER,
    "first_loss": (*_NUMBER, type(None)),
    "best_epoch": (int, type(None)),
    "best_metric": (*_NUMBER, type(None)),
}
"""Fields whose type is not that of their default."""


@dataclass
class RunState:
    """The progress of a run.

    Args:
        epoch: current epoch, from 0.
        step: optimiser steps done in this epoch.
        total_steps: optimiser steps done since the start of the run.
        skipped: steps of this epoch that changed no weight because their gradient was not finite.
        skipped_in_a_row: how many of the most recent steps were skipped.
        loss_total: sum of the losses in this epoch so far.
        loss_weight: sum of their weights.
        first_loss: mean loss of the first step of the run.
        best_epoch: the epoch with the best validation metric.
        best_metric: its validation metric.
        without_better: number of epochs since then.
        history: one record per epoch.
        stopped: "" during the run, then "finished", "early" or "target".
        best: state of the model at the best epoch.
    """

    epoch: int = 0
    step: int = 0
    total_steps: int = 0
    skipped: int = 0
    skipped_in_a_row: int = 0
    loss_total: float = 0.0
    loss_weight: float = 0.0
    first_loss: float | None = None
    best_epoch: int | None = None
    best_metric: float | None = None
    without_better: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped: str = ""
    best: dict[str, Tensor] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return all fields that are not tensors."""
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "best"}

    @staticmethod
    def from_json(stored: Mapping[str, Any], best: dict[str, Tensor]) -> RunState:
        """Return the state that `to_json` wrote, with the tensors of the best epoch.

        Raises:
            TypeError: a field is unknown, missing or of another type.

        """
        state = RunState(**stored, best=best)
        fresh = RunState()
        for name, value in stored.items():
            kind = _OPTIONAL.get(name, type(getattr(fresh, name)))
            if isinstance(value, bool) or not isinstance(value, kind):
                raise TypeError(f"`{name}` of type {type(value).__name__}")
        counts = (
            state.epoch,
            state.step,
            state.total_steps,
            state.without_better,
            state.skipped,
            state.skipped_in_a_row,
        )
        if min(counts) < 0 or not all(isinstance(record, dict) for record in state.history):
            raise TypeError("a number below 0, or a `history` that is not of records")
        return state


def save_checkpoint(
    path: Path,
    run: RunState,
    settings: TrainSettings,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Write a checkpoint, completely or not at all; the one before is kept beside it.

    Raises:
        SaveFailed: the disk is full or cannot be written; the last good checkpoint is kept.

    """
    random_state = RandomState.now()
    scalars, moments = _split_optimizer(optimizer)
    tensors = {
        **_prefixed("model", model_tensors(model)),
        **_prefixed("best", run.best),
        **_prefixed("optimizer", moments),
        **_prefixed("random", random_state.to_tensors()),
    }
    state = {
        "format": FORMAT,
        "run": run.to_json(),
        "settings": settings.to_dict(),
        "optimizer": {"scalars": scalars},
        "random": random_state.to_json(),
    }
    write_folder(path, {STATE: json_to_bytes(state), TENSORS: tensors_to_bytes(tensors)}, owned=True)


def load_checkpoint(
    path: Path,
    settings: TrainSettings,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> tuple[RunState, RandomState]:
    """Load the newest undamaged checkpoint into model and optimiser; return the progress and the random state.

    Raises:
        FileNotFoundError: there is no checkpoint.
        DamagedFolder: it and the one before are both damaged.
        ValueError: it has a newer format, or belongs to other settings or another model.

    """
    return restore_checkpoint(read_checkpoint(path, model), settings, model, optimizer)


def read_checkpoint(path: Path, model: nn.Module) -> dict[str, bytes]:
    """Return the files of the newest undamaged checkpoint, and its path under the name `HOME`.

    Raises:
        FileNotFoundError: there is no checkpoint.
        DamagedFolder: it and the one before are both damaged.

    """
    size = sum(tensor.numel() * tensor.element_size() for tensor in model_tensors(model).values())
    home, files = read_newest(path, {STATE: _LARGEST_STATE, TENSORS: _COPIES * size + _SPARE})
    return {**files, HOME: str(home).encode()}


def restore_checkpoint(
    files: Mapping[str, bytes],
    settings: TrainSettings,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> tuple[RunState, RandomState]:
    """Load a checkpoint into model and optimiser; return the progress and the random state.

    Args:
        files: what `read_checkpoint` returned, in this process or on another machine.
        settings: settings of the run.
        model: model of the run.
        optimizer: optimiser of the run.

    Raises:
        DamagedFolder: the files are not the checkpoint of a run.
        ValueError: it has a newer format, or belongs to other settings or another model.

    """
    home = Path(files[HOME].decode())
    state = json_from_bytes(files[STATE], str(home / STATE), _STATE_VALUES)
    try:
        if state["format"] > FORMAT:
            raise ValueError(
                f"{home} has format {state['format']}; this version reads up to {FORMAT}. Update liquidtime."
            )
        _check_settings(settings, state["settings"], home)
        parts = _parts(tensors_from_bytes(files[TENSORS]))
        run = RunState.from_json(state["run"], parts.get("best", {}))
        random_state = RandomState.of(state["random"], parts["random"])
        random_state.check()
        stored = state["optimizer"]
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
        raise DamagedFolder(f"{home} is not the checkpoint of a run: {type(error).__name__} {error}") from error
    if run.best:
        compare_tensors(model_tensors(model), run.best, str(home))
    load_model_tensors(model, parts.get("model", {}), str(home))
    _join_optimizer(optimizer, stored, parts.get("optimizer", {}), home)
    return run, random_state


def _check_settings(settings: TrainSettings, stored: Mapping[str, Any], source: Path) -> None:
    changed = settings.changes(stored)
    if changed:
        own = settings.to_dict()
        told = ", ".join(f"`{name}` {stored.get(name)!r} → {own.get(name, 'unknown here')!r}" for name in changed)
        raise ValueError(f"{source} is of a run with other settings: {told}. Keep them to resume, or use a new folder.")


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and persistent buffers of a model by name.

    Raises:
        TypeError: an extra state is not a tensor and could only be saved by pickling.

    """
    found: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor):
            raise TypeError(f"`model` has the state {name!r} of type {type(value).__name__}; only tensors are saved.")
        found[name] = value.detach()
    return found


class Shaped(Protocol):
    """A tensor, or a description of one."""

    @property
    def shape(self) -> Sequence[int]:
        """Size of each axis."""


def compare_tensors(own: Mapping[str, Shaped], tensors: Mapping[str, Shaped], source: str) -> None:
    """Compare stored tensors with those of a model by name and shape.

    Args:
        own: tensors of the model.
        tensors: stored tensors.
        source: where they are stored, for the message.

    Raises:
        ValueError: a tensor is missing, surplus or has another shape; the message names it.

    """
    for name in own:
        if name not in tensors:
            raise ValueError(f"{source} has no tensor {name!r}, which the model needs: it belongs to another model.")
        came, needed = tuple(tensors[name].shape), tuple(own[name].shape)
        if came != needed:
            raise ValueError(f"{source} has {name!r} with shape {came}; the model's is {needed}.")
    surplus = sorted(set(tensors) - set(own))
    if surplus:
        raise ValueError(f"{source} has a tensor {surplus[0]!r} that the model does not have; it is of another model.")


def load_model_tensors(model: nn.Module, tensors: Mapping[str, Tensor], source: str) -> None:
    """Load tensors with the same names and shapes into a model.

    Raises:
        ValueError: see `compare_tensors`.

    """
    own = model_tensors(model)
    compare_tensors(own, tensors, source)
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(tensors[name])


def _split_optimizer(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Any], dict[str, Tensor]]:
    scalars: dict[str, Any] = {}
    moments: dict[str, Tensor] = {}
    for index, entries in optimizer.state_dict()["state"].items():
        for key, value in entries.items():
            if isinstance(value, Tensor):
                moments[f"{index}/{key}"] = value
            else:
                scalars[f"{index}/{key}"] = value
    return scalars, moments


def _join_optimizer(
    optimizer: torch.optim.Optimizer, stored: Mapping[str, Any], moments: Mapping[str, Tensor], source: Path
) -> None:
    """Load stored moments into an optimiser; its rates and other options come from the settings of the run."""
    groups = optimizer.state_dict()["param_groups"]
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    entries: dict[int, dict[str, Any]] = {}
    try:
        for where, value in (*stored["scalars"].items(), *moments.items()):
            index, _, key = where.partition("/")
            if isinstance(value, Tensor) and value.dim() > 0 and value.shape != parameters[int(index)].shape:
                raise ValueError(f"{where!r} has another shape than its parameter")
            entries.setdefault(int(index), {})[key] = value
        optimizer.load_state_dict({"state": entries, "param_groups": groups})
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RuntimeError) as error:
        raise DamagedFolder(f"{source} has no state of this optimiser: {error}") from error


def _prefixed(part: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{part}/{name}": tensor for name, tensor in tensors.items()}


def _parts(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    parts: dict[str, dict[str, Tensor]] = {}
    for where, tensor in tensors.items():
        part, name = where.split("/", 1)
        parts.setdefault(part, {})[name] = tensor
    return parts
