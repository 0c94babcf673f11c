from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.solvers import ALL_SOLVERS, Solver, solver_of


class QuotedCTRNNCell(HoistedCell):
    """CT-RNN with a learned scale and a time constant of 1.

        dh/dt = -h + s·tanh(W x + b + R h)

    The input is held over the interval; with dt = 0 the state does not change. `CTRNNCell` learns a time constant for
    each unit and has no scale.

    Args:
        input_size: D.
        hidden_size: H.
        solver: "euler", "heun", "rk4" or another name in `solvers.ALL_SOLVERS`, or a `Solver`.
        unfolds: solver steps per sample.

    """

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, solver: str | Solver = "euler", unfolds: int = 4) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.solver, self.unfolds = solver_of(solver, ALL_SOLVERS), check_size("unfolds", unfolds)
        self.input_map = nn.Linear(D, H)
        self.recurrent_map = nn.Linear(H, H, bias=False)
        self.scale = nn.Parameter(torch.ones(H))
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.recurrent_map.weight)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the drive that depends on the input, (..., H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, H), state ((B, H),), dt (B,)."""
        (h,) = state

        def drive(at: Tensor) -> tuple[Tensor, Tensor]:
            push = self.scale * torch.tanh((projected + self.recurrent_map(at)).to(at.dtype))
            return torch.ones_like(push), push

        h = self.solver.integrate(drive, h, dt.unsqueeze(-1), self.unfolds)
        return h, (h,)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"
