"""A learned vector field and its solution over each series' own interval."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size
from liquidtime.baselines.model import perceptron
from liquidtime.errors import unknown_choice
from liquidtime.solvers import SOLVERS

FIXED = ("euler", "rk4")
ADAPTIVE = ("dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun")


class Flow(nn.Module):
    """The solution of dz/dt = f(z), f a perceptron with tanh.

    A solver knows one time for the whole batch; so that every series has its own, its interval is made 0…1:

        dz/ds = dt·f(z),   s from 0 to 1

    Args:
        size: H.
        units: of f's hidden layers.
        layers: hidden layers of f.
        solver: "euler" or "rk4" with `steps` equal steps an interval; or one of torchdiffeq's adaptive methods, e.g.
            "dopri5", whose steps are those that the whole batch needs: a row then equals the row alone to `tolerance`.
        steps: of a fixed-step solver.
        adjoint: whether gradients come from torchdiffeq's adjoint equation; needs an adaptive solver.
        tolerance: rtol and atol of an adaptive solver.

    """

    def __init__(
        self,
        size: int,
        units: int,
        *,
        layers: int = 1,
        solver: str = "rk4",
        steps: int = 1,
        adjoint: bool = False,
        tolerance: float = 1e-3,
    ) -> None:
        super().__init__()
        if solver not in (*FIXED, *ADAPTIVE):
            raise unknown_choice("solver", solver, (*FIXED, *ADAPTIVE))
        if adjoint and solver in FIXED:
            raise ValueError(f"`adjoint` needs an adaptive solver, e.g. 'dopri5'; got {solver!r}")
        self.solver, self.steps, self.adjoint = solver, check_size("steps", steps), bool(adjoint)
        self.tolerance = float(tolerance)
        hidden = [size] + [check_size("units", units)] * check_size("layers", layers)
        self.field = nn.Sequential(*perceptron(hidden, nn.Tanh), nn.Linear(units, size))

    def forward(self, z: Tensor, dt: Tensor) -> Tensor:
        """Return z (B, H) after intervals dt (B,); those may be negative."""
        interval = dt.unsqueeze(-1)  # (B, 1)
        if self.solver in FIXED:
            none = z.new_zeros(())

            def drive(z: Tensor) -> tuple[Tensor, Tensor]:
                return none, self.field(z)

            return SOLVERS[self.solver].integrate(drive, z, interval, self.steps)
        solve = _odeint(self.adjoint)
        options: dict[str, Any] = {"rtol": self.tolerance, "atol": self.tolerance, "method": self.solver}
        ends = torch.tensor([0.0, 1.0], dtype=z.dtype, device=z.device)
        done: Tensor
        if self.adjoint:
            done = solve(_Scaled(self.field, interval), z, ends, **options)[-1]
        else:
            done = solve(lambda s, z: interval * self.field(z), z, ends, **options)[-1]
        return done

    def along(self, z: Tensor, times: Tensor) -> Tensor:
        """Return (B, Q, H), the solution from z (B, H) at time 0 at times (B, Q) in any order."""
        in_order, order = times.sort(dim=1)
        gaps = torch.diff(in_order, dim=1, prepend=torch.zeros_like(in_order[:, :1]))
        states = []
        for k in range(times.shape[1]):
            z = self(z, gaps[:, k])
            states.append(z)
        back = order.argsort(dim=1).unsqueeze(-1).expand(-1, -1, z.shape[1])
        return torch.stack(states, dim=1).gather(1, back)


class _Scaled(nn.Module):
    """The right-hand side as a module, whose parameters the adjoint equation finds."""

    def __init__(self, field: nn.Module, interval: Tensor) -> None:
        super().__init__()
        self.field, self.interval = field, interval

    def forward(self, s: Tensor, z: Tensor) -> Tensor:
        out: Tensor = self.interval * self.field(z)
        return out


def _odeint(adjoint: bool) -> Any:
    try:
        import torchdiffeq
    except ImportError as error:
        raise ImportError(
            "`solver` is adaptive, which needs torchdiffeq: pip install torchdiffeq, or take 'rk4' or 'euler'."
        ) from error
    return torchdiffeq.odeint_adjoint if adjoint else torchdiffeq.odeint
