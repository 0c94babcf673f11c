from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._types import Drive
from liquidtime.solvers.hold import relax
from liquidtime.solvers.solver import Solver


class Midpoint(Solver):
    """The held solution with the rates evaluated again at its midpoint; order 2, stable for every h.

    m = Hold(x, h/2);   x' = x∞(m) + (x - x∞(m))·exp(-h·rate(m))
    """

    name: ClassVar[str] = "midpoint"
    order: ClassVar[int] = 2

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1)."""
        rate, push = drive(x)
        halfway = relax(x, rate, push, h / 2)
        rate, push = drive(halfway)
        return relax(x, rate, push, h)
