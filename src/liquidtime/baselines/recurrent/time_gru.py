from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from liquidtime._checks import check_size, named_arguments
from liquidtime.cells.gru import GRUCell


class TimeGRUCell(GRUCell):
    """RNN-Δt: a gated recurrent unit with the interval as an additional input.

        h' = GRU([x ; dt], h)

    Args:
        input_size: D, without time.
        hidden_size: H.

    """

    uses_dt: ClassVar[bool] = True

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(check_size("input_size", input_size) + 1, hidden_size)
        self.input_size = int(input_size)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the gates that depends on the input and the interval, (..., 3H)."""
        projected: Tensor = self.input_map(torch.cat([x, dt.unsqueeze(-1)], dim=-1))
        return projected
