"""The short way of `Recurrent.step` without gradients: one call into the kernel, with as few checks as are needed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from liquidtime._types import HiddenState
from liquidtime.cells import Cell, HeadedCell, MixedMemory
from liquidtime.ops.cfc_scan.step import Stepper
from liquidtime.ops.fitness import Way, can_call_straight, way_for

_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def _is_dense(part: object, shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    return type(part) is Tensor and part.shape == shape and part.dtype is dtype and part.is_contiguous()


class QuickStep:
    """A layer's cells packed for single steps, and what must not have changed since.

    It watches every tensor (which one it is, its storage and its version), every submodule and every hook of the
    cells, and packs again when one is another. Copies of a layer start with an empty one.
    """

    def __init__(self) -> None:
        self._stepper: Stepper | None = None
        self._tensors: list[tuple[dict[str, Any], str, Tensor, int, int]] = []
        self._modules: list[tuple[dict[str, Any], str, nn.Module]] = []
        self._hooks: list[dict[int, Any]] = []
        self._dropouts: list[nn.Dropout] = []

    def __reduce__(self) -> tuple[type[QuickStep], tuple[()]]:
        return QuickStep, ()

    def take(
        self, layer: nn.Module, x: object, h: HiddenState | None, dt: Tensor | float | None
    ) -> tuple[Tensor, HiddenState] | None:
        """Return the output and the new state, or None where the plain way must be taken.

        Args:
            layer: whose `cells` are one of each layer.
            x: (B, D).
            h: as `Recurrent.step` takes it.
            dt: as `Recurrent.step` takes it.

        """
        if not can_call_straight() or type(x) is not Tensor:
            return None
        stepper = self._stepper
        if stepper is None or not self._unchanged():
            stepper = self._pack(layer.cells)  # type: ignore[arg-type]
            if stepper is None:
                return None
        dtype, shape = stepper.dtype, x.shape
        if len(shape) != 2 or shape[1] != stepper.D or x.dtype is not dtype or not x.is_contiguous() or not x.is_cpu:
            return None
        rows = shape[0]
        state = (stepper.layers, rows, stepper.H)
        first, memory = h, None
        if stepper.remembers and h is not None:
            if type(h) is not tuple or len(h) != 2:
                return None
            first, memory = h
            if not _is_dense(memory, state, dtype):
                return None
        if first is not None and not _is_dense(first, state, dtype):
            return None
        if dt is None:
            dt = 1.0
        elif type(dt) is int:
            dt = float(dt)
        elif type(dt) is not float and not _is_dense(dt, (rows,), dtype):
            return None
        done = stepper.step(x, first, memory, dt)  # type: ignore[arg-type]
        if done is None:
            return None
        y, hn, mn = done
        return y, hn if mn is None else (hn, mn)

    def _unchanged(self) -> bool:
        for owner, name, tensor, pointer, version in self._tensors:
            if owner[name] is not tensor or tensor._version != version or tensor.data_ptr() != pointer:
                return False
        for owner, name, module in self._modules:
            if owner[name] is not module:
                return False
        if any(self._hooks):
            return False
        return all(not dropout.training or not dropout.p for dropout in self._dropouts)

    def _pack(self, cells: nn.ModuleList) -> Stepper | None:
        self._stepper = None
        parts = []
        for cell in cells:
            fused = cell.fused() if isinstance(cell, HeadedCell | MixedMemory) else None
            if fused is None or any(fused.form.masked):
                return None
            parts.append(fused)
        weights = [[w.detach() for w in part.weights] for part in parts]
        if any(part.form != parts[0].form for part in parts) or any(way_for(*of) is not Way.EAGER for of in weights):
            return None
        modules = list(cells.modules())
        self._tensors = [
            (owner, name, tensor, tensor.data_ptr(), tensor._version)
            for module in modules
            for owner in (module._parameters, module._buffers)
            for name, tensor in owner.items()
            if tensor is not None
        ]
        self._modules = [
            (m._modules, name, part) for m in modules for name, part in m._modules.items() if part is not None
        ]
        self._hooks = [getattr(module, name) for module in modules for name in _HOOKS]
        self._dropouts = [module for module in modules if isinstance(module, nn.Dropout)]
        inputs = [cell.input_size for cell in cells if isinstance(cell, Cell)]
        self._stepper = Stepper(parts[0].form, weights, inputs)
        return self._stepper
