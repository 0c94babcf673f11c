"""Divergence: a loss that is NaN or explodes, or gradients that stay infinite; the last good weights are restored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

_EXPLODED = 1e6
"""A loss has diverged if it exceeds this factor times the loss of the first step, or times 1 if that is larger."""
MOST_SKIPPED = 10
"""Training has diverged after this many consecutive steps whose gradients are not finite; fewer are skipped."""


class TrainingDiverged(ArithmeticError):
    """The loss became NaN, infinite or far too large, or gradients stayed infinite; the last good weights are restored.

    Args:
        what: what went wrong, such as "the loss is nan".
        epoch: number of the epoch, from 0.
        step: number of optimiser steps before this one.
        ids: ids of the rows in the batch of this step.
        culprit: the first parameter or gradient that is not finite; None if all are finite.
    """

    def __init__(self, what: str, epoch: int, step: int, ids: Sequence[Any], culprit: str | None) -> None:
        self.what, self.epoch, self.step, self.ids, self.culprit = what, epoch, step, tuple(ids), culprit
        rows = ", ".join(str(row) for row in self.ids[:8]) + (f" … ({len(self.ids)} in all)" if len(ids) > 8 else "")
        first = f"The first that is not finite is {culprit}." if culprit else "All weights and gradients are finite."
        super().__init__(
            f"{what} at step {step} (epoch {epoch}), rows {rows or 'without `ids`'}. {first} The model has its last "
            "good weights. Look at these rows, or lower `learning_rate` or set `clip_norm`."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.epoch, self.step, self.ids, self.culprit), self.__dict__


class LastGood:
    """A copy of the last weights and buffers whose loss and gradients were finite and not too large."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._kept = [tensor.detach().clone() for tensor in self._live()]

    def _live(self) -> list[Tensor]:
        return [*self._model.parameters(), *self._model.buffers()]

    def keep(self) -> None:
        """Copy the current weights, before an update changes them."""
        with torch.no_grad():
            for kept, live in zip(self._kept, self._live(), strict=True):
                kept.copy_(live)

    def restore(self) -> None:
        """Restore the copied weights in the model."""
        with torch.no_grad():
            for kept, live in zip(self._kept, self._live(), strict=True):
                live.copy_(kept)


def first_not_finite(model: nn.Module) -> str | None:
    """Return the name of the first parameter, or else gradient, that is not finite; None if all are finite."""
    for name, parameter in model.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            return f"the parameter `{name}`"
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not bool(torch.isfinite(parameter.grad).all()):
            return f"the gradient of `{name}`"
    return None


def loss_fault(loss: float, first: float) -> str | None:
    """Return what is wrong with a loss: NaN, infinite, or above 10⁶·max(1, |first|); None if nothing is."""
    if not math.isfinite(loss):
        return f"the loss is {loss}"
    if loss > _EXPLODED * max(1.0, abs(first)):
        return f"the loss exploded to {loss:.3g} (the first was {first:.3g})"
    return None


def row_ids(batch: Any) -> list[Any]:
    """Return the `ids` of a batch; an empty list if it has none."""
    ids = batch.get("ids") if isinstance(batch, dict) else getattr(batch, "ids", None)
    return [] if ids is None else list(ids.tolist() if hasattr(ids, "tolist") else ids)
