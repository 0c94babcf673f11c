"""Backward runs of kernels, which cannot be differentiated again and raise an error if they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

NO_SECOND_DERIVATIVE = (
    "the native scan has no second derivatives. Run the code that needs them inside "
    "liquidtime.ops.using_backend('reference'), whose plain loop has them."
)

Gradients = tuple[Tensor | None, ...]


class _Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, run: Callable[[Gradients], Gradients], count: int, *tensors: Tensor | None) -> Gradients:
        return run(tensors[:count])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        refuse(ctx, *grads)


def once(run: Callable[[Gradients], Gradients], grads: Gradients, sources: Iterable[Tensor | None]) -> Gradients:
    """Return run(grads), refusing to differentiate it again.

    Args:
        run: the backward run.
        grads: the incoming gradients.
        sources: the tensors that the forward run used. The result depends on them as well, so it must be marked as
            differentiable even if the incoming gradients are constants, such as those of a sum.

    """
    if not torch.is_grad_enabled():
        return run(grads)
    done: Gradients = _Once.apply(run, len(grads), *grads, *sources)  # type: ignore[no-untyped-call]
    return done


def refuse(ctx: Any, *grads: Any) -> Any:
    """Refuse a second derivative, as the backward of an operator that is a backward itself.

    Raises:
        RuntimeError: always; the message says how to get second derivatives.

    """
    raise RuntimeError(NO_SECOND_DERIVATIVE)
