"""Matrix products with operands of lower precision: the definition in plain PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

PRODUCTS = ("full", "bf16")


def check_products(products: str, dtype: torch.dtype) -> None:
    """Refuse bf16 operands for numbers that are not float32.

    Raises:
        TypeError: `products` is "bf16" and `dtype` is not float32.

    """
    if products == "bf16" and dtype is not torch.float32:
        raise TypeError(
            f'`products` is "bf16", which needs weights in float32; got {dtype}. Keep the network in float32, or make '
            'it with products="full".'
        )


class _Round(torch.autograd.Function):
    """Round to the nearest bf16, ties to even, as float32; gradients pass unchanged."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.bfloat16().float()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return tangent.clone()


class _RoundGradient(torch.autograd.Function):
    """Return the same numbers; round their gradient to the nearest bf16."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return rounded(grad)

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return tangent.clone()


def rounded(x: Tensor) -> Tensor:
    """Return the nearest bf16 of each number, ties to even, as float32; its gradient is that of x."""
    done: Tensor = _Round.apply(x)  # type: ignore[no-untyped-call]
    return done


def linear_bf16(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x·Wᵀ + b with the operands of all three products rounded to bf16, and products and sums in float32.

        y = r(x)·r(W)ᵀ + b;    dx = r(dy)·r(W),   dW = r(dy)ᵀ·r(x),   db = Σ r(dy)

    where r(x) is the nearest bf16 of x. db is the gradient of a weight whose input is 1. Autocast has no effect inside.

    Args:
        x: (..., D).
        weight: (n, D), float32.
        bias: (n,), or None.

    Raises:
        TypeError: the weights are not float32.

    """
    check_products("bf16", weight.dtype)
    kind = x.device.type
    if torch.is_autocast_enabled(kind):
        with torch.autocast(kind, enabled=False):
            return linear_bf16(x.float(), weight, bias)
    y: Tensor = _RoundGradient.apply(F.linear(rounded(x), rounded(weight), bias))  # type: ignore[no-untyped-call]
    return y
