from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._types import Drive
from liquidtime.solvers.solver import Solver


class SemiImplicit(Solver):
    """The fused step of the liquid networks, order 1, stable for every h: rates are held at x, x itself is implicit.

    x' = (x + h·push) / (1 + h·rate) = x + h·(push - rate·x) / (1 + h·rate)
    """

    name: ClassVar[str] = "semi_implicit"
    order: ClassVar[int] = 1

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1)."""
        rate, push = drive(x)
        return (x + h * push) / (1 + h * rate)
