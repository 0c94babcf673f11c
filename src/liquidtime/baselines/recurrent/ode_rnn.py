from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._checks import named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.field import Field
from liquidtime.cells.gru import GRUCell
from liquidtime.solvers import Solver


class ODERNNCell(GRUCell):
    """ODE-RNN: a gated recurrent unit whose state follows a learned vector field between samples.

        h(0) = h,   dh/dt = V tanh(W h + b) + c;   h' = GRU(x, h(dt))

    Args:
        input_size: D.
        hidden_size: H.
        field_units: width of the hidden layer of the field; None for H.
        solver: "euler", "rk4" or "dopri5", or another explicit `Solver`.
        unfolds: solver steps per sample.

    """

    uses_dt: ClassVar[bool] = True

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        field_units: int | None = None,
        solver: str | Solver = "rk4",
        unfolds: int = 1,
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.field = Field(self.hidden_size, field_units, solver, unfolds)

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 3H), state ((B, H),), dt (B,)."""
        return super().advance(projected, (self.field(state[0], dt),), dt)
