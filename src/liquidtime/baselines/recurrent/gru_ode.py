from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.gru import GRUCell
from liquidtime.solvers import ALL_SOLVERS, Solver, solver_of


class GRUODECell(GRUCell):
    """GRU-ODE: a gated recurrent unit in continuous time between samples, and another one at each sample.

        dh/dt = (1 - z)·(n - h),   z, r = σ(U h + b),   n = tanh(U_n (r·h) + b_n);   h' = GRU(x, h(dt))

    The state stays in [-1, 1], because both parts do, and with the solvers "semi_implicit" and "hold" also every one of
    their steps for every dt.

    Args:
        input_size: D.
        hidden_size: H.
        solver: "semi_implicit", "euler", "rk4", "hold", "midpoint" or "dopri5", or a `Solver`.
        unfolds: solver steps per sample.

    """

    uses_dt: ClassVar[bool] = True

    @named_arguments
    def __init__(
        self, input_size: int, hidden_size: int, solver: str | Solver = "semi_implicit", unfolds: int = 4
    ) -> None:
        super().__init__(input_size, hidden_size)
        H = self.hidden_size
        self.solver, self.unfolds = solver_of(solver, ALL_SOLVERS), check_size("unfolds", unfolds)
        self.gate_map = nn.Linear(H, 2 * H)
        self.candidate_map = nn.Linear(H, H)
        for layer in (self.gate_map, self.candidate_map):
            nn.init.orthogonal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def drive(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return rate and push of dh/dt = push - rate·h at h (B, H)."""
        stay, r = self.gate_map(h).to(h.dtype).chunk(2, dim=-1)
        rate = torch.sigmoid(-stay)  # 1 - z, above 0 even if z rounds to 1
        return rate, rate * torch.tanh(self.candidate_map(torch.sigmoid(r) * h).to(h.dtype))

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 3H), state ((B, H),), dt (B,)."""
        h = self.solver.integrate(self.drive, state[0], dt.unsqueeze(-1), self.unfolds)
        return super().advance(projected, (h,), dt)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"
