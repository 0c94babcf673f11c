from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.cell import Cell


class QuotedRNNDecayCell(Cell):
    """RNN-Decay as a plain recurrent network from which a learned vector times the interval is subtracted.

        h' = V tanh(W [x ; h] + b) + c - dt·τ

    Nothing in it decays. `DecayGRUCell` is a gated unit whose state decays exponentially.

    Args:
        input_size: D.
        hidden_size: H.

    """

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.inner_map = nn.Linear(D + H, H)
        self.outer_map = nn.Linear(H, H)
        self.drift = nn.Parameter(torch.empty(H).uniform_(-(H**-0.5), H**-0.5))
        for layer in (self.inner_map, self.outer_map):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),), dt (B,)."""
        (h,) = state
        inner = torch.tanh(self.inner_map(torch.cat([x, h], dim=-1)))
        h = self.outer_map(inner).to(h.dtype) - dt.unsqueeze(-1) * self.drift
        return h, (h,)
