from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._types import Drive
from liquidtime.solvers.solver import Solver


class Euler(Solver):
    """The explicit Euler step, order 1; unstable where h·rate > 2.

    x' = x + h·(push - rate·x)
    """

    name: ClassVar[str] = "euler"
    order: ClassVar[int] = 1

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1)."""
        rate, push = drive(x)
        return x + h * (push - rate * x)
