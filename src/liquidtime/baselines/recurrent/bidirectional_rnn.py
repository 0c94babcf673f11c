from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.ct_rnn import CTRNNCell
from liquidtime.cells.cell import Cell
from liquidtime.cells.lstm import LSTMCell
from liquidtime.solvers import Solver


class BidirectionalRNNCell(Cell):
    """The bidirectional RNN from the authors of the ODE-LSTM: an LSTM and a CT-RNN that read each other.

        (h', m') = LSTM([x ; v], (h, m));   v' = CT-RNN([x ; h'], v, dt);   y = W [v' ; h'] + b

    Both run forward in time; the two directions are between the two networks. For both directions in time see
    `baselines.series.BidirectionalRNN`, or `layers.Recurrent` with `bidirectional=True`. The state is (h, m, v).

    Args:
        input_size: D.
        hidden_size: H, of both networks and of the output.
        solver: solver of the CT-RNN.
        unfolds: solver steps per sample.

    """

    @named_arguments
    def __init__(
        self, input_size: int, hidden_size: int, solver: str | Solver = "semi_implicit", unfolds: int = 4
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, H, H)
        self.lstm = LSTMCell(D + H, H)
        self.leaky = CTRNNCell(D + H, H, solver=solver, unfolds=unfolds)
        self.output_map = nn.Linear(2 * H, H)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state three times (B, H), dt (B,)."""
        h, m, v = state
        _, (h, m) = self.lstm(torch.cat([x, v], dim=-1), (h, m), dt)
        _, (v,) = self.leaky(torch.cat([x, h], dim=-1), (v,), dt)
        y = self.output_map(torch.cat([v, h], dim=-1)).to(h.dtype)
        return y, (h, m, v)
