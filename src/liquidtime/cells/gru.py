from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class GRUCell(HoistedCell):
    """The gated recurrent unit, which ignores time.

        r, z = σ(W x + b + R h);   n = tanh(W_n x + b_n + r·(R_n h + c_n));   h' = (1 - z)·n + z·h

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
        self.input_map = nn.Linear(D, 3 * H)
        self.recurrent_map = nn.Linear(H, 3 * H, bias=False)
        self.recurrent_bias = nn.Parameter(torch.zeros(H))
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.recurrent_map.weight)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the gates that depends on the input, (..., 3H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 3H), state ((B, H),); dt is ignored."""
        (h,) = state
        from_x = projected.to(h.dtype).chunk(3, dim=-1)
        from_h = self.recurrent_map(h).to(h.dtype).chunk(3, dim=-1)
        r = torch.sigmoid(from_x[0] + from_h[0])
        z = torch.sigmoid(from_x[1] + from_h[1])
        n = torch.tanh(from_x[2] + r * (from_h[2] + self.recurrent_bias))
        h = (1 - z) * n + z * h
        return h, (h,)
