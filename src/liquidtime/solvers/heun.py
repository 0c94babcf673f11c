from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._types import Drive
from liquidtime.solvers.solver import Solver


class Heun(Solver):
    """Heun's step, the explicit trapezoidal rule, order 2; unstable where h·rate > 2.

    e = x + h·f(x);   x' = x + h/2·(f(x) + f(e)),   f = push - rate·x
    """

    name: ClassVar[str] = "heun"
    order: ClassVar[int] = 2

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step of h (B, 1)."""

        def slope(at: Tensor) -> Tensor:
            rate, push = drive(at)
            return push - rate * at

        k1 = slope(x)
        return x + h / 2 * (k1 + slope(x + h * k1))
