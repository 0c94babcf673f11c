from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.cell import Cell


class QuotedCTGRUCell(Cell):
    """CT-GRU with M learned log-scales for each unit, whose traces decay after the update.

        h = Σ v_i;   r_i = softmax_i(-(ρ_i - ln τ_i)²),   s_i = softmax_i(-(ς_i - ln τ_i)²),   ρ, ς = W [x ; h] + b
        q = tanh(W_q [x ; Σ r_i·v_i] + b_q);   v_i' = ((1 - s_i)·v_i + s_i·q)·exp(-dt / τ_i);   y = Σ v_i'

    τ_i = shortest·√10^i, i = 0 … M - 1. The state is v, (B, H·M). `CTGRUCell`, as in the paper, has one ρ and one ς for
    each unit, and its traces decay before the update, over the past interval.

    Args:
        input_size: D.
        hidden_size: H, the width of the output.
        scales: M, the number of time scales.
        shortest: τ_0, in the unit of dt.

    """

    numbers: Tensor

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, scales: int = 8, shortest: float = 1.0) -> None:
        super().__init__()
        D, H, M = (
            check_size("input_size", input_size),
            check_size("hidden_size", hidden_size),
            check_size("scales", scales),
        )
        self.input_size, self.output_size, self.state_sizes = D, H, (H * M,)
        self.scales, self.shortest = M, check_positive("shortest", shortest)
        self.read_map = nn.Linear(D + H, H * M)
        self.write_map = nn.Linear(D + H, H * M)
        self.candidate_map = nn.Linear(D + H, H)
        self.register_buffer("numbers", torch.arange(M, dtype=torch.get_default_dtype()), persistent=False)
        for layer in (self.read_map, self.write_map, self.candidate_map):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H·M),), dt (B,)."""
        H, M = self.output_size, self.scales
        log_scales = math.log(self.shortest) + 0.5 * math.log(10.0) * self.numbers
        traces = state[0].reshape(-1, H, M)
        seen = torch.cat([x, traces.sum(dim=-1)], dim=-1)

        def nearest(layer: nn.Linear) -> Tensor:
            logs = layer(seen).to(traces.dtype).reshape(-1, H, M)
            return torch.softmax(-(logs - log_scales).square(), dim=-1)

        read = (nearest(self.read_map) * traces).sum(dim=-1)
        q = torch.tanh(self.candidate_map(torch.cat([x, read], dim=-1)).to(traces.dtype))
        traces = traces + nearest(self.write_map) * (q.unsqueeze(-1) - traces)
        traces = traces * torch.exp(-dt.unsqueeze(-1) * torch.exp(-log_scales)).unsqueeze(-2)
        return traces.sum(dim=-1), (traces.flatten(-2),)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"scales={self.scales}, shortest={self.shortest:g}"
