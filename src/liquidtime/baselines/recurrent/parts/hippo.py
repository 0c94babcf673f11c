from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_size
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.polynomial_memory import PolynomialMemoryCell


class HiPPOCell(PolynomialMemoryCell):
    """The gated network with a HiPPO memory of Gu, Dao, Ermon, Rudra and Ré (2020).

        g = σ(G [x; h; c]);   h' = (1 - g)·h + g·tanh(W [x; h; c]);   f = w·h' + b;   c' = memory(c, f, dt)

    Each map has a bias. The state is (h, c, ...).

    Args:
        input_size: D.
        hidden_size: H.
        order: N, the number of coefficients; None is H, as in the paper.

    """

    def __init__(self, input_size: int, hidden_size: int, order: int | None) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.order = H if order is None else check_size("order", order)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, self.order)
        self.input_map = nn.Linear(D, 2 * H)
        self.recurrent_map = nn.Linear(H + self.order, 2 * H, bias=False)
        self.signal = nn.Linear(H, 1)
        for part in self.input_map.weight, self.recurrent_map.weight, self.signal.weight:
            nn.init.xavier_uniform_(part)
        nn.init.zeros_(self.input_map.bias)
        nn.init.zeros_(self.signal.bias)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the input's part of gate and candidate, (..., 2H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def move(self, projected: Tensor, state: State, dt: Tensor, E: Tensor) -> tuple[Tensor, State]:
        """Take one step with the memory's matrix given: projected (B, 2H), state (h (B, H), c (B, N), ...)."""
        h, c = state[:2]
        both = (projected + self.recurrent_map(torch.cat([h, c], dim=-1))).to(h.dtype)
        gate, candidate = both.chunk(2, dim=-1)
        h = torch.lerp(h, torch.tanh(candidate), torch.sigmoid(gate))
        f = self.signal(h).to(h.dtype)
        return h, (h, self.remember(c, f, E))

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"order={self.order}"
