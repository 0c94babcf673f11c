"""The adaptive solver of torchdiffeq."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from liquidtime._types import Drive
from liquidtime.solvers.flow import Flow
from liquidtime.solvers.solver import Solver


class Dopri5(Solver):
    """Dormand and Prince's pair of orders 5 and 4, with step sizes chosen from its error estimate, from torchdiffeq.

    All series are solved together, each over its own interval: s runs from 0 to 1 and dx/ds = dt·f(x). The steps are
    shared by the batch and chosen so that the error of every series stays within the tolerance. The result of a series
    therefore depends on its batch, by no more than the tolerance.

    Args:
        rtol: relative tolerance.
        atol: absolute tolerance.
        adjoint: whether gradients are computed by solving backwards in time, which keeps no steps in memory and is as
            accurate as the tolerance; this needs a right-hand side that lists its tensors, a `Flow`.

    """

    name: ClassVar[str] = "dopri5"
    order: ClassVar[int] = 5

    def __init__(self, rtol: float = 1e-4, atol: float = 1e-5, *, adjoint: bool = False) -> None:
        if not (rtol > 0 and atol > 0):
            raise ValueError(f"`rtol` and `atol` must be greater than 0; got {rtol!r} and {atol!r}")
        self.rtol, self.atol, self.adjoint = float(rtol), float(atol), bool(adjoint)

    def step(self, drive: Drive, x: Tensor, h: Tensor) -> Tensor:
        """Return x after the time h (B, 1)."""
        if x.numel() == 0:
            return x

        def slope(s: Tensor, at: Tensor) -> Tensor:
            rate, push = drive(at)
            return (h * (push - rate * at)).to(at.dtype)

        span = torch.linspace(0.0, 1.0, 2, dtype=h.dtype, device=h.device)
        settings: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol, "method": "dopri5"}
        settings["options"] = {"norm": _largest_row}
        solve = _torchdiffeq().odeint
        if self.adjoint:
            if not isinstance(drive, Flow):
                raise ValueError("`adjoint` needs a right-hand side that lists its tensors; pass a `Flow`")
            solve = _torchdiffeq().odeint_adjoint
            settings["adjoint_params"] = tuple(part for part in (h, *drive.tensors()) if part.requires_grad)
        after: Tensor = solve(slope, x, span, **settings)[-1]
        return after

    def integrate(self, drive: Drive, x: Tensor, dt: Tensor, unfolds: int) -> Tensor:
        """Return x after the time dt (B, 1); the solver chooses its own steps and ignores `unfolds`."""
        return self.step(drive, x, dt)

    def __repr__(self) -> str:
        return f"Dopri5(rtol={self.rtol:g}, atol={self.atol:g}, adjoint={self.adjoint})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _largest_row(error: Tensor) -> Tensor:
    """Return the largest root mean square over the rows of an error (B, H), or of another tensor that is solved for."""
    squares = error.detach().square()  # the choice of steps is not differentiated
    return (squares.mean(dim=-1) if squares.dim() > 1 else squares.mean()).max().sqrt()


def _torchdiffeq() -> Any:
    try:
        import torchdiffeq
    except ImportError as error:
        raise ImportError(
            '`solver` "dopri5" needs the package torchdiffeq, which is not installed; install it with '
            '`pip install torchdiffeq`, or use "rk4" or "euler".'
        ) from error
    return torchdiffeq
