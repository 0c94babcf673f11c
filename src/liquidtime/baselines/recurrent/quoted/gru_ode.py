from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.cell import Cell
from liquidtime.solvers import ALL_SOLVERS, Solver, solver_of


class QuotedGRUODECell(Cell):
    """GRU-ODE with the sample held during the flow and without an update at the sample.

        dh/dt = (1 - z)·(n - h),   r, z = σ(W [x ; h] + b),   n = tanh(W_n [x ; r·h] + b_n)

    A sample with dt = 0 has no effect. `GRUODECell`, as in the paper, has a flow without input and a GRU at each
    sample.

    Args:
        input_size: D.
        hidden_size: H.
        solver: "euler", "semi_implicit", "rk4" or another name in `solvers.ALL_SOLVERS`, or a `Solver`.
        unfolds: solver steps per sample.

    """

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, solver: str | Solver = "euler", unfolds: int = 4) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.solver, self.unfolds = solver_of(solver, ALL_SOLVERS), check_size("unfolds", unfolds)
        self.gate_map = nn.Linear(D + H, 2 * H)
        self.candidate_map = nn.Linear(D + H, H)
        for layer in (self.gate_map, self.candidate_map):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),), dt (B,)."""
        (h,) = state

        def drive(at: Tensor) -> tuple[Tensor, Tensor]:
            r, stay = self.gate_map(torch.cat([x, at.to(x.dtype)], dim=-1)).to(at.dtype).chunk(2, dim=-1)
            rate = torch.sigmoid(-stay)  # 1 - z, above 0 even if z rounds to 1
            n = self.candidate_map(torch.cat([x, (torch.sigmoid(r) * at).to(x.dtype)], dim=-1)).to(at.dtype)
            return rate, rate * torch.tanh(n)

        h = self.solver.integrate(drive, h, dt.unsqueeze(-1), self.unfolds)
        return h, (h,)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"
