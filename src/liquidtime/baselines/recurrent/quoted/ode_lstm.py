from __future__ import annotations

from torch import Tensor

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.quoted.ct_rnn import QuotedCTRNNCell
from liquidtime.cells.cell import Cell
from liquidtime.cells.lstm import LSTMCell
from liquidtime.solvers import Solver


class QuotedODELSTMCell(Cell):
    """ODE-LSTM with a CT-RNN, whose input is the output of the LSTM, instead of a vector field.

        (o, m') = LSTM(x, (v, m));   v' = CT-RNN(o, v, dt)

    The state is (v, m), the output v'. In `ODELSTMCell` the flow starts at the output of the LSTM and has no input.

    Args:
        input_size: D.
        hidden_size: H.
        solver: solver of the CT-RNN, see `QuotedCTRNNCell`.
        unfolds: solver steps per sample.
        forget_bias: constant that is added to the argument of the forget gate.

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        solver: str | Solver = "euler",
        unfolds: int = 4,
        *,
        forget_bias: float = 3.0,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, H)
        self.lstm = LSTMCell(D, H, forget_bias=forget_bias)
        self.leaky = QuotedCTRNNCell(H, H, solver=solver, unfolds=unfolds)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H), (B, H)), dt (B,)."""
        v, m = state
        o, (_, m) = self.lstm(x, (v, m), dt)
        _, (v,) = self.leaky(o, (v,), dt)
        return v, (v, m)
