from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class ReLUGRUCell(HoistedCell):
    """A gated recurrent unit with a rectified candidate (Dey and Salem 2017), which ignores time.

        r, z = σ(W x + b + R h);   n = relu(W_n x + b_n + R_n (r·h));   h' = (1 - z)·h + z·n

    Unlike in `GRUCell`, the reset gate is inside the product, and z is the fraction of the candidate. A state that
    starts at 0 never becomes negative.

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
        self.gate_map = nn.Linear(H, 2 * H, bias=False)
        self.candidate_map = nn.Linear(H, H, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.gate_map.weight)
        nn.init.orthogonal_(self.candidate_map.weight)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of gates and candidate that depends on the input, (..., 3H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 3H), state ((B, H),); dt is ignored."""
        (h,) = state
        H = self.hidden_size
        from_x = projected.to(h.dtype)
        r, z = torch.sigmoid(from_x[:, : 2 * H] + self.gate_map(h).to(h.dtype)).chunk(2, dim=-1)
        n = torch.relu(from_x[:, 2 * H :] + self.candidate_map(r * h).to(h.dtype))
        h = torch.lerp(h, n, z)
        return h, (h,)
