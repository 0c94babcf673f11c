from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from liquidtime.cells.headed import HeadedCell


class CfSCell(HeadedCell):
    """The closed-form solution as the reference code computes it.

        h' = A - A·exp(-dt·(|wτ| + |u|))·u,   u = W b + c unbounded,   b = backbone([x ; h])

    A starts at 1 and wτ at 0. The paper's own equation is `CfSPaperCell`.

    Args:
        input_size: D.
        hidden_size: H.
        **options: options of the backbone and the head, see `HeadedCell`.

    """

    kind: ClassVar[str] = "cf_s"

    def __init__(self, input_size: int, hidden_size: int, **options: Any) -> None:
        super().__init__(input_size, hidden_size, 1, **options)
        self.A = nn.Parameter(torch.ones(self.hidden_size))
        self.w_tau = nn.Parameter(torch.zeros(self.hidden_size))

    def combine(self, x: Tensor, h: Tensor, dt: Tensor) -> Tensor:
        """Return the new hidden state (B, H)."""
        (u,) = self.head_values(x, h)
        return self.A - self.A * torch.exp(-dt * (self.w_tau.abs() + u.abs())) * u

    def form_vectors(self) -> list[Tensor]:
        """Return A and |wτ|."""
        return [self.A, self.w_tau.abs()]
