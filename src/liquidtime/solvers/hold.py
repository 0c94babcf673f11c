from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from liquidtime._types import Drive
from liquidtime.solvers.solver import Solver


class Hold(Solver):
    """The exact solution with the presynaptic activity held over the step; order 1, stable for every h.

    x' = x∞ + (x - x∞)·exp(-h·rate),   x∞ = push / rate
    """

    name: ClassVar[str] = "hold"
    order: ClassVar[int] = 1

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1)."""
        rate, push = drive(x)
        return relax(x, rate, push, h)


def relax(x: Tensor, rate: Tensor, push: Tensor, h: Tensor) -> Tensor:
    """Return the solution at h of dx/dt = push - rate·x with constant rate and push, all (B, H), h (B, 1).

    It is written as a step from x, so that h = 0 gives exactly x, without rounding.
    """
    return x - (push / rate - x) * torch.expm1(-h * rate)
