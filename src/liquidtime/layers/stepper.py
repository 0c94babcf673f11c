"""A frozen copy of a layer, for single samples when every microsecond counts."""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from liquidtime._checks import check_size
from liquidtime._types import HiddenState
from liquidtime.errors import wrong_shape
from liquidtime.layers.quick import scans_of
from liquidtime.ops import cfc_frozen_stepper

_PLAIN = (Tensor, Parameter)


class Stepper:
    """Processes one sample after another with the weights and settings that a layer has when this is created.

    It is frozen: later changes of the layer have no effect here, and nothing is checked again. It holds the state of
    its series, initially 0, and gives no gradients. The output it returns is its own memory, which the next sample
    overwrites: clone it to keep it. Use each object in only one thread.

    Args:
        layer: a `Recurrent` that only runs forward.
        batch_size: B, the number of series that are processed side by side.

    """

    def __init__(self, layer: Any, batch_size: int = 1) -> None:
        self._rows, self._width = check_size("batch_size", batch_size), layer.input_size
        if layer.bidirectional:
            raise ValueError("a stepper needs a layer that only runs forward; this one is bidirectional.")
        with torch.no_grad():
            scans = scans_of(layer)
            weights = [scan.weights for scan in scans]
            self._native = cfc_frozen_stepper(scans[0].form, weights, self._rows) if scans else None
        self._layer = copy.deepcopy(layer)  # it defines the form of the state, and runs cells without a kernel
        self._like = next(self._layer.parameters()).detach()
        self._state: HiddenState | None = None

    @property
    def state(self) -> HiddenState:
        """A copy of the state, in the form of `Recurrent.step`."""
        native = self._native
        if native is not None:
            return native.h.clone() if native.m is None else (native.h.clone(), native.m.clone())
        if self._state is None:
            self._state = self._zero()
        return copy.deepcopy(self._state)

    def reset(self, state: HiddenState | None = None) -> None:
        """Start again from a state in the form of `state` or `Recurrent.step`; None for zeros.

        Raises:
            ValueError: wrong shape or number of parts.

        """
        zero = self._zero()
        if state is None:
            state = zero
        parts, needed = _parts(state), _parts(zero)
        if len(parts) != len(needed):
            raise ValueError(f"`state` must have {len(needed)} part(s), as returned by this layer; got {len(parts)}.")
        for part, like in zip(parts, needed, strict=True):
            if part.shape != like.shape:
                raise wrong_shape("state", "(layers, B, H)", list(like.shape), part.shape)
        if self._native is None:
            copies = tuple(part.detach().to(self._like).clone() for part in parts)
            self._state = copies[0] if isinstance(state, Tensor) else copies
            return
        with torch.no_grad():
            self._native.h.copy_(parts[0])
            if self._native.m is not None:
                self._native.m.copy_(parts[1])

    def __call__(self, x: Tensor, dt: Tensor | float | None = None) -> Tensor:
        """Process one sample.

        Args:
            x: (B, D), of any strides, in the type of the weights.
            dt: time since the previous sample: (B,), a number, or None (= 1).

        Returns:
            (B, output_size), valid until the next sample.

        Raises:
            ValueError: wrong shape, or an interval that is negative, NaN or infinite.
            TypeError: wrong type or device.

        """
        if type(x) not in _PLAIN:
            raise TypeError(f"`x` must be a plain tensor; got {type(x).__name__}")
        if dt is None:
            dt = 1.0
        elif type(dt) not in _PLAIN and type(dt) is not float:
            dt = _number(dt)
        native = self._native
        if native is not None and native.step(x, dt):
            return native.y
        self._check("x", x, [self._rows, self._width], "(B, D)")
        if isinstance(dt, Tensor):
            self._check("dt", dt.reshape(-1) if dt.dim() == 2 else dt, [self._rows] if dt.dim() else [], "(B,)")
        with torch.no_grad():
            y, state = self._layer.step(x, self.state, dt)
        if native is None:
            self._state = state
            return y  # type: ignore[no-any-return]
        self.reset(state)  # kernels cannot read this kind of tensor
        return native.y.copy_(y)

    def _check(self, name: str, tensor: Tensor, shape: list[int], axes: str) -> None:
        if tensor.dtype is not self._like.dtype or tensor.device != self._like.device:
            kind = f"{self._like.dtype} on {self._like.device}"
            raise TypeError(f"`{name}` must be {kind}, as the weights are; got {tensor.dtype} on {tensor.device}")
        if list(tensor.shape) != shape:
            raise wrong_shape(name, axes, shape, tensor.shape)

    def _zero(self) -> HiddenState:
        x = self._like.new_zeros(self._rows, self._width)
        states = [cell.initial_state(x) for cell in self._layer.cells]
        parts = tuple(torch.stack(part) for part in zip(*states, strict=True))
        return parts[0] if len(parts) == 1 else parts


def _number(dt: object) -> float:
    if isinstance(dt, bool) or not isinstance(dt, Real):
        raise TypeError(f"`dt` must be a tensor, a number or None; got {type(dt).__name__}")
    return float(dt)


def _parts(state: HiddenState) -> tuple[Tensor, ...]:
    return (state,) if isinstance(state, Tensor) else tuple(state)
