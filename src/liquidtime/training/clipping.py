"""Clip gradients by their norm: of all variables together, or of each variable alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def clip_global(gradients: Sequence[Tensor], limit: float) -> None:
    """Scale all gradients, in place, by limit / max(‖g‖, limit), where ‖g‖ is the norm of all of them together."""
    if gradients:
        scale = limit / total_norm(gradients).clamp(min=limit)
        for gradient in gradients:
            gradient.mul_(scale.to(gradient.device, gradient.dtype))


def clip_each(gradients: Sequence[Tensor], limit: float) -> None:
    """Scale each gradient, in place, by limit / max(‖g‖, limit), where ‖g‖ is its own norm."""
    for gradient in gradients:
        gradient.mul_(limit / torch.linalg.vector_norm(gradient).clamp(min=limit))


def total_norm(tensors: Sequence[Tensor]) -> Tensor:
    """Return the 2-norm of all entries of all tensors; it is not finite only if an entry is not, or if it overflows."""
    return torch.nn.utils.get_total_norm(list(tensors))


CLIPPING: dict[str, Callable[[Sequence[Tensor], float], None]] = {"global": clip_global, "each": clip_each}
