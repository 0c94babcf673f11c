"""Everything a run needs to go on as if it had never stopped, in one checked folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from liquidtime.training.artifact import (
    DamagedFolder,
    json_to_bytes,
    read_newest,
    tensors_from_bytes,
    tensors_to_bytes,
    write_folder,
)
from liquidtime.training.average import WeightAverage
from liquidtime.training.seeds import RandomState
from liquidtime.training.settings import TrainSettings

FORMAT = 1
STATE, TENSORS = "state.json", "tensors.safetensors"


@dataclass
class RunState:
    """Where a run is.

    Args:
        epoch: the epoch at work, from 0.
        step: optimiser steps taken in it.
        total_steps: optimiser steps taken in all.
        loss_total: sum of the losses of this epoch so far.
        loss_weight: and of their weights.
        first_loss: the mean loss of the run's first step.
        best_epoch: the epoch with the best validation metric.
        best_metric: that metric.
        without_better: epochs since then.
        history: one record an epoch.
        stopped: "" while running, then "finished" or "early".
        best: the model's state at the best epoch.
    """

    epoch: int = 0
    step: int = 0
    total_steps: int = 0
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
        """Return every field that is not a tensor."""
        return {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "best"}


def save_checkpoint(
    path: Path,
    run: RunState,
    settings: TrainSettings,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage,
) -> None:
    """Write a run with all its states, whole or not at all; the one before is kept beside it.

    Raises:
        SaveFailed: the disk is full or refuses; the last good one stays.

    """
    random_state = RandomState.now()
    groups, scalars, moments = _split_optimizer(optimizer)
    tensors = {
        **_prefixed("model", model_tensors(model)),
        **_prefixed("best", run.best),
        **_prefixed("average", average.tensors),
        **_prefixed("optimizer", moments),
        **_prefixed("random", random_state.to_tensors()),
    }
    state = {
        "format": FORMAT,
        "run": run.to_json(),
        "settings": settings.to_dict(),
        "optimizer": {"groups": groups, "scalars": scalars},
        "average_count": average.count,
        "random": random_state.to_json(),
    }
    write_folder(path, {STATE: json_to_bytes(state), TENSORS: tensors_to_bytes(tensors)}, owned=True)


def load_checkpoint(
    path: Path,
    settings: TrainSettings,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage,
) -> tuple[RunState, RandomState]:
    """Give model, optimiser and average the states of the newest good checkpoint; return the run's and the random one.

    Raises:
        FileNotFoundError: there is none.
        DamagedFolder: both generations are damaged.
        ValueError: it is of a newer format, of other settings, or of another model.

    """
    found, files = read_newest(path)
    for name in (STATE, TENSORS):
        if name not in files:
            raise DamagedFolder(f"{found} has no {name}; it is not a checkpoint of a run")
    state = json.loads(files[STATE])
    if state["format"] > FORMAT:
        raise ValueError(f"{found} has format {state['format']}; this version reads up to {FORMAT}. Update liquidtime.")
    changed = settings.changes(state["settings"])
    if changed:
        told = ", ".join(f"`{name}` {state['settings'].get(name)!r} → {getattr(settings, name)!r}" for name in changed)
        raise ValueError(f"{found} is of a run with other settings: {told}. Keep them to resume, or use a new folder.")
    parts = _parts(tensors_from_bytes(files[TENSORS]))
    load_model_tensors(model, parts.get("model", {}), str(found))
    _join_optimizer(optimizer, state["optimizer"], parts.get("optimizer", {}))
    device = {name: parameter.device for name, parameter in model.named_parameters()}
    average.count = state["average_count"]
    average.tensors = {name: tensor.to(device[name]) for name, tensor in parts.get("average", {}).items()}
    run = RunState(**state["run"], best=parts.get("best", {}))
    return run, RandomState.of(state["random"], parts["random"])


def model_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's parameters and kept buffers by name.

    Raises:
        TypeError: an extra state that is not a tensor, which could only be saved by pickling.

    """
    found: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        if not isinstance(value, Tensor):
            raise TypeError(f"`model` has the state {name!r} of type {type(value).__name__}; only tensors are saved.")
        found[name] = value.detach()
    return found


def load_model_tensors(model: nn.Module, tensors: Mapping[str, Tensor], source: str) -> None:
    """Give a model the tensors of another with the same names and shapes.

    Raises:
        ValueError: a tensor that is missing, surplus or of another shape; the text names it.

    """
    own = model_tensors(model)
    for name in own:
        if name not in tensors:
            raise ValueError(f"{source} has no tensor {name!r}, which the model needs: it is of another model.")
        if own[name].shape != tensors[name].shape:
            came, needed = tuple(tensors[name].shape), tuple(own[name].shape)
            raise ValueError(f"{source} has {name!r} with shape {came}; the model's is {needed}.")
    surplus = sorted(set(tensors) - set(own))
    if surplus:
        raise ValueError(f"{source} has a tensor {surplus[0]!r} that the model does not: it is of another model.")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(tensors[name])


def _split_optimizer(optimizer: torch.optim.Optimizer) -> tuple[list[Any], dict[str, Any], dict[str, Tensor]]:
    whole = optimizer.state_dict()
    scalars: dict[str, Any] = {}
    moments: dict[str, Tensor] = {}
    for index, entries in whole["state"].items():
        for key, value in entries.items():
            if isinstance(value, Tensor):
                moments[f"{index}/{key}"] = value
            else:
                scalars[f"{index}/{key}"] = value
    return whole["param_groups"], scalars, moments


def _join_optimizer(optimizer: torch.optim.Optimizer, stored: Mapping[str, Any], moments: Mapping[str, Tensor]) -> None:
    entries: dict[int, dict[str, Any]] = {}
    for where, value in (*stored["scalars"].items(), *moments.items()):
        index, key = where.split("/", 1)
        entries.setdefault(int(index), {})[key] = value
    groups = [
        {name: tuple(value) if name == "betas" else value for name, value in group.items()}
        for group in stored["groups"]
    ]
    optimizer.load_state_dict({"state": entries, "param_groups": groups})


def _prefixed(part: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{part}/{name}": tensor for name, tensor in tensors.items()}


def _parts(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    parts: dict[str, dict[str, Tensor]] = {}
    for where, tensor in tensors.items():
        part, name = where.split("/", 1)
        parts.setdefault(part, {})[name] = tensor
    return parts
