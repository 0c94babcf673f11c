from __future__ import annotations

from collections.abc import Callable, Iterable

from torch import Tensor


class Flow:
    """A right-hand side dx/dt = f(x) without a rate of its own, and the tensors that f reads.

    It is what a `Solver` takes, with rate 0: for the explicit solvers only, since the others divide by the rate or
    gain nothing from it.

    Args:
        slope: maps x (B, H) to dx/dt (B, H).
        tensors: returns every tensor that gradients must reach besides x.

    """

    def __init__(self, slope: Callable[[Tensor], Tensor], tensors: Callable[[], Iterable[Tensor]]) -> None:
        self.slope = slope
        self.tensors = tensors

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return (0, f(x)) at x (B, H)."""
        return x.new_zeros(()), self.slope(x)
