"""Whether a kernel can take given tensors, and by which way."""

from __future__ import annotations

import enum

import torch
from torch import Tensor
from torch.autograd import forward_ad

from liquidtime.ops.backend import native_is_live


class Way(enum.Enum):
    """How a scan runs: the plain loop, the kernel called straight, or the kernel as an operator for a tracer."""

    REFERENCE = enum.auto()
    EAGER = enum.auto()
    TRACED = enum.auto()


def can_call_straight() -> bool:
    """Return whether nothing traces, maps or watches what is computed, so that a kernel may be called directly."""
    return (
        native_is_live()
        and not torch.compiler.is_compiling()
        and forward_ad._current_level < 0
        and torch._C._functorch.maybe_current_level() is None
        and not torch._C._len_torch_dispatch_stack()
    )


def way_for(x: Tensor, *others: Tensor) -> Way:
    """Return the way for a scan over x and the other tensors.

    A kernel takes float32 and float64 on the CPU, all of one type. Under `vmap` and the other transforms of
    `torch.func`, and in forward-mode differentiation, the plain loop is run, which they can see into.
    """
    if not native_is_live() or x.dtype not in (torch.float32, torch.float64) or x.device.type != "cpu":
        return Way.REFERENCE
    for t in others:
        if t.dtype is not x.dtype or t.device.type != "cpu":
            return Way.REFERENCE
    if torch.compiler.is_compiling():
        return Way.TRACED
    if forward_ad._current_level >= 0 or torch._C._functorch.maybe_current_level() is not None:
        return Way.REFERENCE
    if torch._C._len_torch_dispatch_stack() or type(x) is not Tensor:
        return Way.TRACED
    return Way.EAGER
