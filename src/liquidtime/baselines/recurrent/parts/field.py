"""A learned vector field."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size
from liquidtime.solvers import EXPLICIT, Flow, Solver, solver_of


class Field(nn.Module):
    """A vector field, and the solver that integrates it.

        dh/dt = V tanh(W h + b) + c,   optionally with more layers like the inner one

    Args:
        size: H.
        units: U, the width of a hidden layer; None for H.
        solver: "euler", "heun", "rk4" or "dopri5", or another explicit `Solver`.
        unfolds: solver steps per interval.
        layers: number of hidden layers.

    """

    def __init__(self, size: int, units: int | None, solver: str | Solver, unfolds: int, layers: int = 1) -> None:
        super().__init__()
        U = size if units is None else check_size("field_units", units)
        self.solver, self.unfolds = solver_of(solver, EXPLICIT), check_size("unfolds", unfolds)
        self.hidden = nn.Linear(size, U)
        self.deeper = nn.ModuleList(nn.Linear(U, U) for _ in range(check_size("layers", layers) - 1))
        self.out = nn.Linear(U, size)
        for layer in (self.hidden, *self.deeper, self.out):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def slope(self, h: Tensor) -> Tensor:
        """Return dh/dt at h (B, H)."""
        z = torch.tanh(self.hidden(h))
        for layer in self.deeper:
            z = torch.tanh(layer(z))
        return self.out(z).to(h.dtype)  # type: ignore[no-any-return]

    def forward(self, h: Tensor, dt: Tensor) -> Tensor:
        """Return h (B, H) after following the field for the time dt (B,), which may be negative."""
        return self.solver.integrate(Flow(self.slope, self.parameters), h, dt.unsqueeze(-1), self.unfolds)

    def along(self, h: Tensor, times: Tensor) -> Tensor:
        """Return (B, Q, H): the solution from h (B, H) at time 0, at times (B, Q) in any order."""
        in_order, order = times.sort(dim=1)
        gaps = torch.diff(in_order, dim=1, prepend=torch.zeros_like(in_order[:, :1]))
        states = []
        for gap in gaps.unbind(1):
            h = self(h, gap)
            states.append(h)
        back = order.argsort(dim=1).unsqueeze(-1).expand(-1, -1, h.shape[1])
        return torch.stack(states, dim=1).gather(1, back)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"
