from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.cells.plain import is_plain
from liquidtime.solvers import EXPLICIT, Flow, Solver, solver_of


class LipschitzRNNCell(HoistedCell):
    """Lipschitz RNN: a linear part and a Lipschitz part, both with matrices between symmetric and skew-symmetric.

        dh/ds = A h + tanh(W h + U x + b),   s = step·t
        A = (1 - β)·(M + Mᵀ) + β·(M - Mᵀ) - γ·I,   and W in the same way from its own matrix

    With β = 1 every eigenvalue of A has real part -γ; otherwise real parts lie between the smallest and the largest
    eigenvalue of (1 - β)·(M + Mᵀ) - γ·I. The input is held over the interval; with dt = 0 the state does not change.

    Args:
        input_size: D.
        hidden_size: H.
        beta: β of both matrices, in 0.5…1.
        gamma: γ of both, at least 0.
        step: factor of dt; the source uses a step of 0.03 per sample.
        solver: "euler", "rk4" or "dopri5", or another explicit `Solver`.
        unfolds: solver steps per sample.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        beta: float = 0.75,
        gamma: float = 0.001,
        step: float = 0.03,
        solver: str | Solver = "euler",
        unfolds: int = 1,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        if not 0.5 <= beta <= 1.0:
            raise ValueError(f"`beta` must be at least 0.5 and at most 1; got {beta!r}")
        if not 0.0 <= gamma < math.inf:
            raise ValueError(f"`gamma` must be finite and at least 0; got {gamma!r}")
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.beta, self.gamma, self.step = float(beta), float(gamma), check_positive("step", step)
        self.solver, self.unfolds = solver_of(solver, EXPLICIT), check_size("unfolds", unfolds)
        self.free = nn.Parameter(torch.randn(2, H, H) / H)
        self.input_map = nn.Linear(D, H)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)

    def matrices(self) -> Tensor:
        """Return A and W, (2, H, H)."""
        turned = self.free.transpose(-1, -2)
        eye = torch.eye(self.hidden_size, dtype=turned.dtype, device=turned.device)
        return self.free + (1 - 2 * self.beta) * turned - self.gamma * eye

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the drive that depends on the input, (..., H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, H), state ((B, H),), dt (B,)."""
        return self._advance(projected, state, dt, self.matrices().flatten(0, 1))

    def _advance(self, projected: Tensor, state: State, dt: Tensor, both: Tensor) -> tuple[Tensor, State]:
        """Take one step with the matrices A and W one above the other, (2H, H)."""
        (h,) = state

        def slope(at: Tensor) -> Tensor:
            linear, inner = F.linear(at, both).chunk(2, dim=-1)
            return linear.to(at.dtype) + torch.tanh((inner + projected).to(at.dtype))

        flow = Flow(slope, lambda: (both, projected))
        h = self.solver.integrate(flow, h, dt.unsqueeze(-1) * self.step, self.unfolds)
        return h, (h,)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence, computing its matrices once; see `Cell.scan`."""
        self.check_stored(x, state, dt, lengths)
        own = type(self).forward is HoistedCell.forward and type(self).advance is LipschitzRNNCell.advance
        if not own or not is_plain(self):
            return super().scan(x, state, dt, lengths)
        both = self.matrices().flatten(0, 1)
        return self._loop(self.project, lambda fed, h, gap: self._advance(fed, h, gap, both), x, state, dt, lengths)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        solved = f"solver={self.solver.name}, unfolds={self.unfolds}"
        return f"beta={self.beta:g}, gamma={self.gamma:g}, step={self.step:g}, {solved}"
