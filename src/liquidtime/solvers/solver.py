"""The interface of a solver: one step of dx/dt = push(x) - rate(x)·x, and an interval as several such steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor

from liquidtime._types import Drive


class Solver(ABC):
    """One step of an ordinary differential equation that is linear in x as long as its rates are held.

    A solver has no state. The error at a fixed time falls with the step to the power `order`; the tests measure this. A
    step of 0 returns x itself, bit by bit.
    """

    name: ClassVar[str]
    order: ClassVar[int]

    @abstractmethod
    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after one step.

        Args:
            drive: maps x (B, H) to the pair (rate, push), each (B, H), rate > 0.
            x: (B, H) the state.
            h: (B, 1) the step, at least 0.

        """

    def integrate(self, drive: Drive, x: Tensor, dt: Tensor, unfolds: int) -> Tensor:
        """Return x after `unfolds` equal steps that together take the time dt (B, 1)."""
        h = dt / unfolds
        for _ in range(unfolds):
            x = self.step(drive, x, h)
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))
