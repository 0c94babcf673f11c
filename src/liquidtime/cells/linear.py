"""Linear maps by the precision of their products."""

from __future__ import annotations

from torch import Tensor, nn

from liquidtime.cells.plain import note_methods, note_table
from liquidtime.ops.products import linear_bf16


class Bf16Linear(nn.Linear):
    """A linear map whose products have bf16 operands and float32 sums; see `linear_bf16`."""

    def forward(self, input: Tensor) -> Tensor:
        """Map (..., in_features) to (..., out_features)."""
        return linear_bf16(input, self.weight, self.bias)


LINEAR: dict[str, type[nn.Linear]] = {"full": nn.Linear, "bf16": Bf16Linear}

note_methods(Bf16Linear)
note_table(LINEAR)
