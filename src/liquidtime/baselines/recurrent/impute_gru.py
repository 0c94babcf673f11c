from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.decay import InputDecay
from liquidtime.cells.cell import Cell
from liquidtime.cells.gru import GRUCell


class ImputeGRUCell(Cell):
    """RNN-Impute: a gated recurrent unit on values that are filled in by decay towards the mean.

        h' = GRU(x̂, h),   x̂ as in `InputDecay`

    The gates read neither mask nor time; time affects only the filled-in values. The state is (h, last - mean, δ).

    Args:
        input_size: D: K values, their masks, and columns that are always observed.
        hidden_size: H.
        masks: (K,) the column with the mask of each value; the values are the first K columns.
        mean: (K,) value towards which values decay; None for 0.

    """

    uses_dt: ClassVar[bool] = True
    others: Tensor

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        masks: Sequence[int],
        mean: Tensor | Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.imputed = InputDecay(D, masks, mean)
        K = self.imputed.size
        others = sorted(set(range(K, D)) - {int(column) for column in masks})
        self.register_buffer("others", torch.tensor(others, dtype=torch.int64), persistent=False)
        self.gru = GRUCell(K + len(others), H)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, K, K)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H), (B, K), (B, K)), dt (B,)."""
        h, last, since = state
        filled, _, last, since = self.imputed(x, last, since, dt)
        h, _ = self.gru(torch.cat([filled, x.index_select(-1, self.others)], dim=-1), (h,), dt)
        return h, (h, last, since)
