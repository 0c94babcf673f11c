from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.backbone import Backbone
from liquidtime.cells.cell import Cell
from liquidtime.cells.own_parts import MakeBackbone, own_backbone
from liquidtime.solvers import ALL_SOLVERS, Solver, solver_of


class LiquidCell(Cell):
    """The liquid time-constant equation with any network f, as in the paper (its equation 1).

        dx/dt = -[w_τ + f(x, I)]·x + A·f(x, I)

    The input I is held over the interval, which is solved in `unfolds` steps; with dt = 0 the state does not change.
    w_τ is kept positive by softplus. By default f is a dense network that ends in a sigmoid, so that 0 < f < 1 and the
    state stays between 0 and A. `LTCCell` is the form in which liquid networks are usually trained: neurons with
    conductances, where f is a sum over their synapses.

    Args:
        input_size: D.
        hidden_size: H.
        network: a function from the width of [I ; x], D + H, to a module from (B, D + H) to (B, H), whose output is f.
            Keep its values above -w_τ: below, the equation is unstable. None for the dense network.
        units: U, the width of the hidden layer of the dense network.
        solver: "semi_implicit", "euler", "heun", "rk4", "hold", "midpoint" or "dopri5", or a `Solver`.
        unfolds: solver steps per sample.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        network: MakeBackbone | None = None,
        units: int = 64,
        solver: str | Solver = "semi_implicit",
        unfolds: int = 6,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.solver, self.unfolds = solver_of(solver, ALL_SOLVERS), check_size("unfolds", unfolds)
        self.network: nn.Module
        if network is None:
            self.network = nn.Sequential(Backbone(D + H, check_size("units", units)), nn.Linear(units, H), nn.Sigmoid())
        else:
            self.network, out = own_backbone(network, D + H, "network")
            if out != H:
                raise ValueError(f"`network` must make a module with outputs (B, H) = (B, {H}); got (B, {out})")
        self.raw_rate = nn.Parameter(torch.zeros(H))
        self.A = nn.Parameter(torch.ones(H))

    @property
    def w_tau(self) -> Tensor:
        """w_τ of each unit, (H,), above 0."""
        return F.softplus(self.raw_rate)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D) the input I, state ((B, H),), dt (B,)."""
        (h,) = state
        w_tau = self.w_tau

        def drive(at: Tensor) -> tuple[Tensor, Tensor]:
            f = self.network(torch.cat([x, at.to(x.dtype)], dim=-1)).to(at.dtype)
            return w_tau + f, self.A * f

        h = self.solver.integrate(drive, h, dt.unsqueeze(-1), self.unfolds)
        return h, (h,)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"solver={self.solver.name}, unfolds={self.unfolds}"
