from __future__ import annotations

from collections.abc import Callable, Iterable

from torch import Tensor


class Flow:
    """A right-hand side dx/dt = f(x) without a rate, together with the tensors that f reads.

    It can be passed to a `Solver`, with rate 0, but only to explicit solvers, since the others divide by the rate or
    gain nothing from it.

    Args:
        slope: maps x (B, H) to dx/dt (B, H).
        tensors: function that returns every tensor besides x that gradients must reach.

    """

    def __init__(self, slope: Callable[[Tensor], Tensor], tensors: Callable[[], Iterable[Tensor]]) -> None:
        self.slope = slope
        self.tensors = tensors

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return (0, f(x)) at x (B, H)."""
        return x.new_zeros(()), self.slope(x)
