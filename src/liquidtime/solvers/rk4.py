from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._types import Drive
from liquidtime.solvers.solver import Solver


class RK4(Solver):
    """The classical Runge-Kutta step, order 4; unstable where h·rate > 2.78."""

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1)."""

        def slope(at: Tensor) -> Tensor:
            rate, push = drive(at)
            return push - rate * at

        k1 = slope(x)
        k2 = slope(x + h / 2 * k1)
        k3 = slope(x + h / 2 * k2)
        k4 = slope(x + h * k3)
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
