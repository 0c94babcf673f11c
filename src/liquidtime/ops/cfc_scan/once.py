"""Backward runs that cannot be differentiated again, and say so when that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

NO_SECOND_DERIVATIVE = (
    "the native scan has no second derivatives. Run what needs them with "
    "liquidtime.ops.using_backend('reference'), whose plain loop has them."
)

Grads = tuple[Tensor | None, ...]


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: Callable[[Grads], Grads], *grads: Tensor | None) -> Grads:
        return run(grads)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        raise RuntimeError(NO_SECOND_DERIVATIVE)


def once(run: Callable[[Grads], Grads], grads: Grads) -> Grads:
    """Return run(grads), which raises a RuntimeError when it is differentiated."""
    if not torch.is_grad_enabled():
        return run(grads)
    result: Grads = _Backward.apply(run, *grads)  # type: ignore[no-untyped-call]
    return result
