from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._checks import named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.field import Field
from liquidtime.cells.lstm import LSTMCell
from liquidtime.solvers import Solver


class ODELSTMCell(LSTMCell):
    """ODE-LSTM: a long short-term memory whose output follows a learned vector field over the interval.

        (o, m') = LSTM(x, (h, m));   h(0) = o,   dh/dt = V tanh(W h + b) + c;   h' = h(dt)

    The memory m stays outside the field, so that it preserves gradients like that of an LSTM.

    Args:
        input_size: D.
        hidden_size: H.
        field_units: width of the hidden layer of the field; None for H.
        solver: "euler", "rk4" or "dopri5", or another explicit `Solver`.
        unfolds: solver steps per sample.
        forget_bias: constant that is added to the argument of the forget gate.

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
        *,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__(input_size, hidden_size, forget_bias=forget_bias)
        self.field = Field(self.hidden_size, field_units, solver, unfolds)

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 4H), state ((B, H), (B, H)), dt (B,)."""
        _, (h, m) = super().advance(projected, state, dt)
        h = self.field(h, dt)
        return h, (h, m)
