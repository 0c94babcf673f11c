"""The devices of this machine by name, and copies to them that the host does not wait for."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from liquidtime.training.ranks import current

AUTO, CPU = "auto", torch.device("cpu")
Model = TypeVar("Model", bound=nn.Module)
_PREFERRED = ("cuda", "mps")
"""The order in which "auto" looks for a device."""


def available() -> list[str]:
    """Return the device types that torch finds on this machine, the CPU last."""
    return [*(name for name in _PREFERRED if _is_there(name)), "cpu"]


def device_of(name: str | torch.device) -> torch.device:
    """Return a device of this machine.

    Args:
        name: "auto" (CUDA, else MPS, else the CPU), "cpu", "cuda", "mps", or a numbered device such as "cuda:1". If
            several ranks run on one machine, each uses another of its devices, unless the name has a number.

    Raises:
        ValueError: there is no such device on this machine, or the name is not that of a device.

    """
    if name == AUTO:
        name = available()[0]
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise ValueError(f"`device` must be 'auto', 'cpu', 'cuda' or 'mps'; got {name!r}") from None
    if device.type == "cpu":
        return CPU
    count, index = _count(device.type), cast("int | None", device.index)
    if not count or (index is not None and index >= count):
        few = f" with the number {index}: there are {count}" if count else ""
        raise ValueError(
            f"`device` {device.type!r} is not on this machine{few}; torch {torch.__version__} finds "
            f"{', '.join(available())}. Use one of these, or 'auto'."
        )
    if index is None and current().world > 1:
        device = torch.device(device.type, int(os.environ.get("LOCAL_RANK", "0")) % count)
    return device


def _is_there(kind: str) -> bool:
    module: Any = getattr(torch, kind, None)
    return module is not None and hasattr(module, "is_available") and bool(module.is_available())


def _count(kind: str) -> int:
    return int(getattr(torch, kind).device_count()) if _is_there(kind) else 0


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device, without waiting for the device.

    Pageable host memory has been read when this returns; MPS gives no such guarantee, so there the host does wait.
    """
    return tensor.to(device, non_blocking=device.type != "mps")


def taken(values: Tensor, mask: Tensor) -> Tensor:
    """Return (n, ...) `values[mask]`; if the mask is on the host, without waiting for the device.

    Args:
        values: (..., *rest) tensor on any device.
        mask: (...) truth values; on the host, if the host should not wait for the device.
    """
    if values.device == mask.device:
        return values[mask]
    places = moved(mask.reshape(-1).nonzero().squeeze(1), values.device)
    return values.reshape(-1, *values.shape[mask.dim() :]).index_select(0, places)


def numbers_of(tensors: Sequence[Tensor]) -> list[float]:
    """Return () tensors as numbers; those of another device in one copy, which the host waits for."""
    if not tensors:
        return []
    kind = max((tensor.dtype for tensor in tensors if tensor.is_floating_point()), key=lambda dtype: dtype.itemsize)
    values: list[float] = torch.stack([tensor.detach().to(kind) for tensor in tensors]).cpu().tolist()
    return values


def device_of_model(model: nn.Module) -> torch.device:
    """Return the device of the parameters of a model."""
    return next((parameter.device for parameter in model.parameters()), CPU)


@contextmanager
def placed(model: nn.Module, device: torch.device | None) -> Iterator[None]:
    """Move a model to a device for the block, and back afterwards; None does not move it."""
    before = device_of_model(model)
    if device is None or device == before:
        yield
        return
    model.to(device)
    try:
        yield
    finally:
        model.to(before)


def on_device(models: Sequence[Model], device: torch.device) -> list[Model]:
    """Return models on a device; those that are on another device are copied, not moved."""
    return [model if device_of_model(model) == device else copy.deepcopy(model).to(device) for model in models]


def moving(objective: Callable[[nn.Module, Any], Any], device: torch.device) -> Callable[[nn.Module, Any], Any]:
    """Return the objective, changed to move the tensors of each batch to a device first."""
    return lambda model, batch: objective(model, _on(device, batch))


def _on(device: torch.device, batch: Any) -> Any:
    """Return a tensor, or a tuple, list or dict of tensors, on a device; return anything else unchanged."""
    if isinstance(batch, Tensor):
        return moved(batch, device)
    if isinstance(batch, dict):
        return {name: _on(device, part) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = [_on(device, part) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch
