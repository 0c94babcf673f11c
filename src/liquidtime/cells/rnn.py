from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class RNNCell(HoistedCell):
    """The plain recurrent network, which ignores time.

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

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the state that depends on the input, (..., H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, H), state ((B, H),); dt is ignored."""
        h = torch.tanh((projected + self.recurrent_map(state[0])).to(state[0].dtype))
        return h, (h,)
