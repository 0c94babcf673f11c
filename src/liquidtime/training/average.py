"""Averages of the weights along a run: a moving one (EMA), or the mean of ends of epochs (SWA)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """The averaged parameters; buffers are the model's own.

        ema, at each step:  a ← a + (1 − d_n)(w − a),   d_n = min(decay, (1 + n) / (10 + n))
        swa, at the end of each epoch from `start`:  a ← a + (w − a) / (n + 1)

    Args:
        model: whose floating-point parameters are averaged.
        kind: "none", "ema" or "swa".
        decay: of ema.
        start: first epoch of swa, from 0.
    """

    def __init__(self, model: nn.Module, kind: str, decay: float, start: int) -> None:
        self._model, self._kind, self._decay, self._start = model, kind, decay, start
        self.count = 0
        self.tensors: dict[str, Tensor] = {}

    def after_step(self) -> None:
        """Take in the weights after an optimiser step."""
        if self._kind == "ema":
            keep = min(self._decay, (1 + self.count) / (10 + self.count))
            self._move(1.0 - keep)

    def after_epoch(self, epoch: int) -> None:
        """Take in the weights at the end of an epoch."""
        if self._kind == "swa" and epoch >= self._start:
            self._move(1.0 / (self.count + 1))

    def apply(self) -> None:
        """Give the model the averaged weights, if there are any yet."""
        with torch.no_grad():
            for name, parameter in self._model.named_parameters():
                if name in self.tensors:
                    parameter.copy_(self.tensors[name])

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Let the model have the averaged weights within a block."""
        if not self.tensors:
            yield
            return
        own = {name: parameter.detach().clone() for name, parameter in self._model.named_parameters()}
        self.apply()
        try:
            yield
        finally:
            with torch.no_grad():
                for name, parameter in self._model.named_parameters():
                    parameter.copy_(own[name])

    def _move(self, share: float) -> None:
        with torch.no_grad():
            for name, parameter in self._model.named_parameters():
                if not parameter.is_floating_point():
                    continue
                if self.count == 0:
                    self.tensors[name] = parameter.detach().clone()
                else:
                    self.tensors[name].lerp_(parameter, share)
        self.count += 1
