from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class CTGRUCell(HoistedCell):
    """CT-GRU: a gated recurrent unit that writes to and reads from traces of M time scales.

        v̂_i = v_i·exp(-dt / τ_i);   h̄ = Σ v̂_i
        r_i = softmax_i(-(ρ - ln τ_i)²),   s_i = softmax_i(-(ς - ln τ_i)²),   ρ, ς = W x + b + U h̄
        q = tanh(W_q x + b_q + U_q Σ r_i·v̂_i);   v_i' = (1 - s_i)·v̂_i + s_i·q;   y = Σ v_i'

    τ_i = shortest·√10^i, i = 0 … M - 1. The state is v, M traces side by side for each of H units, (B, H·M).

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
        self.input_map = nn.Linear(D, 3 * H)
        self.scale_map = nn.Linear(H, 2 * H, bias=False)
        self.recurrent_map = nn.Linear(H, H, bias=False)
        self.register_buffer("numbers", torch.arange(M, dtype=torch.get_default_dtype()), persistent=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.scale_map.weight)
        nn.init.orthogonal_(self.recurrent_map.weight)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of ρ, ς and q that depends on the input, (..., 3H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 3H), state ((B, H·M),), dt (B,)."""
        H, M = self.output_size, self.scales
        log_scales = math.log(self.shortest) + 0.5 * math.log(10.0) * self.numbers
        traces = state[0].reshape(-1, H, M)
        traces = traces * torch.exp(-dt.unsqueeze(-1) * torch.exp(-log_scales)).unsqueeze(-2)
        both, candidate = torch.split(projected, [2 * H, H], dim=-1)
        logs = (both + self.scale_map(traces.sum(dim=-1))).to(traces.dtype)
        near = torch.softmax(-(logs.unsqueeze(-1) - log_scales).square(), dim=-1)  # (B, 2H, M)
        read, write = near.chunk(2, dim=-2)
        q = torch.tanh((candidate + self.recurrent_map((read * traces).sum(dim=-1))).to(traces.dtype))
        traces = traces + write * (q.unsqueeze(-1) - traces)
        return traces.sum(dim=-1), (traces.flatten(-2),)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"scales={self.scales}, shortest={self.shortest:g}"
