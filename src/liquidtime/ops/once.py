"""Backward runs of kernels, which can be differentiated no further and say so when that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

NO_SECOND_DERIVATIVE = (
    "the native scan has no second derivatives. Run what needs them with "
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
    """Return run(grads), so that a second derivative through it is refused.

    Args:
        run: the backward run.
        grads: the gradients that come in.
        sources: the tensors that the forward run computed with. The result depends on them too, so it must say that
            it can be differentiated even where the incoming gradients are constants, as those of a sum are.

    """
    if not torch.is_grad_enabled():
        return run(grads)
    done: Gradients = _Once.apply(run, len(grads), *grads, *sources)  # type: ignore[no-untyped-call]
    return done


def refuse(ctx: Any, *grads: Any) -> Any:
    """Refuse a second derivative, as the backward of an operator that is a backward itself.

    Raises:
        RuntimeError: always; the text says how to get second derivatives.

    """
    raise RuntimeError(NO_SECOND_DERIVATIVE)
