from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.solvers import ALL_SOLVERS, Solver, solver_of


class CTRNNCell(HoistedCell):
    """CT-RNN: leaky units, each with its own time constant.

        τ·dh/dt = -h + tanh(W x + b + R h),   τ = softplus(·)

    The input is held over the interval, which is solved in `unfolds` steps; with dt = 0 the state does not change.

    Args:
        input_size: D.
        hidden_size: H.
        time_constant: initial τ of every unit, in the unit of dt.
        solver: "semi_implicit", "euler", "rk4", "hold", "midpoint" or "dopri5", or a `Solver`.
        unfolds: solver steps per sample.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        time_constant: float = 1.0,
        solver: str | Solver = "semi_implicit",
        unfolds: int = 4,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        time_constant = check_positive("time_constant", time_constant)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.solver, self.unfolds = solver_of(solver, ALL_SOLVERS), check_size("unfolds", unfolds)
        start = time_constant + math.log(-math.expm1(-time_constant))  # the inverse of softplus
        self.raw_time_constant = nn.Parameter(torch.full((H,), start))
        self.input_map = nn.Linear(D, H)
        self.recurrent_map = nn.Linear(H, H, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.recurrent_map.weight)

    @property
    def time_constant(self) -> Tensor:
        """τ of each unit, (H,)."""
        return F.softplus(self.raw_time_constant)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the drive that depends on the input, (..., H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, H), state ((B, H),), dt (B,)."""
        (h,) = state
        rate = 1.0 / self.time_constant

        def drive(at: Tensor) -> tuple[Tensor, Tensor]:
            return rate, rate * torch.tanh((projected + self.recurrent_map(at)).to(at.dtype))

        h = self.solver.integrate(drive, h, dt.unsqueeze(-1), self.unfolds)
        return h, (h,)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"
