from __future__ import annotations

import torch
from torch import Tensor

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.quoted.ct_rnn import QuotedCTRNNCell
from liquidtime.cells.cell import Cell
from liquidtime.cells.lstm import LSTMCell
from liquidtime.solvers import Solver


class QuotedBidirectionalRNNCell(Cell):
    """Bi-directional RNN: an LSTM and a CT-RNN that read each other's previous state; their outputs are added.

        (h', m') = LSTM([x ; v ; dt], (h, m));   v' = CT-RNN([x ; h], v, dt);   y = h' + v'

    The state is (h, m, v). `BidirectionalRNNCell` reads the new h', does not pass dt to the LSTM, and maps both
    outputs.

    Args:
        input_size: D.
        hidden_size: H, of both networks and of the output.
        solver: solver of the CT-RNN, see `QuotedCTRNNCell`.
        unfolds: solver steps per sample.

    """

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, solver: str | Solver = "euler", unfolds: int = 4) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, H, H)
        self.lstm = LSTMCell(D + H + 1, H)
        self.leaky = QuotedCTRNNCell(D + H, H, solver=solver, unfolds=unfolds)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state three times (B, H), dt (B,)."""
        h, m, v = state
        _, (v_next,) = self.leaky(torch.cat([x, h], dim=-1), (v,), dt)
        _, (h, m) = self.lstm(torch.cat([x, v, dt.unsqueeze(-1).to(x.dtype)], dim=-1), (h, m), dt)
        return h + v_next, (h, m, v_next)
