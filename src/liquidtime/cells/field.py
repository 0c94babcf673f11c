"""A learned vector field."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size
from liquidtime.solvers import EXPLICIT, Flow, Solver, solver_of


class Field(nn.Module):
    """A vector field with one hidden layer, and the solver that follows it.

        dh/dt = V tanh(W h + b) + c

    Args:
        size: H.
        units: U, of the hidden layer; None takes H.
        solver: "euler", "rk4" or "dopri5", or a `Solver` of such a kind.
        unfolds: steps of the solver an interval.

    """

    def __init__(self, size: int, units: int | None, solver: str | Solver, unfolds: int) -> None:
        super().__init__()
        U = size if units is None else check_size("field_units", units)
        self.solver, self.unfolds = solver_of(solver, EXPLICIT), check_size("unfolds", unfolds)
        self.hidden = nn.Linear(size, U)
        self.out = nn.Linear(U, size)
        for layer in (self.hidden, self.out):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def slope(self, h: Tensor) -> Tensor:
        """Return dh/dt at h (B, H)."""
        return self.out(torch.tanh(self.hidden(h))).to(h.dtype)  # type: ignore[no-any-return]

    def forward(self, h: Tensor, dt: Tensor) -> Tensor:
        """Return where the field takes h (B, H) in the time dt (B,)."""
        return self.solver.integrate(Flow(self.slope, self.parameters), h, dt.unsqueeze(-1), self.unfolds)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"
