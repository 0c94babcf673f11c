from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.cell import Cell


class RNNCell(Cell):
    """The plain recurrent network, which does not look at time.

        h' = tanh(W x + b + R h)

    Args:
        input_size: D.
        hidden_size: H.

    """

    uses_dt: ClassVar[bool] = False

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.input_map = nn.Linear(D, H)
        self.recurrent_map = nn.Linear(H, H, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.recurrent_map.weight)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),); dt changes nothing."""
        h = torch.tanh((self.input_map(x) + self.recurrent_map(state[0])).to(state[0].dtype))
        return h, (h,)
