from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class CTLSTMCell(HoistedCell):
    """CT-LSTM of the neural Hawkes process: a memory that decays towards a learned level between samples.

        c(dt) = c̄ + (c - c̄)·exp(-δ·dt);   h = o·tanh(c(dt))
        i, f, o', ī, f̄ = σ(W x + b + R h);   z = 2σ(W_z x + b_z + R_z h) - 1;   δ' = softplus(W_δ x + b_δ + R_δ h)
        c' = f·c(dt) + i·z;   c̄' = f̄·c̄ + ī·z;   y = o'·tanh(c')

    The state is (c, c̄, δ, o), which determines the hidden state at any time after the sample.

    Args:
        input_size: D.
        hidden_size: H.

    """

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, H, H, H)
        self.input_map = nn.Linear(D, 7 * H)
        self.recurrent_map = nn.Linear(H, 7 * H, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.recurrent_map.weight)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the gates that depends on the input, (..., 7H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def decayed(self, state: State, dt: Tensor) -> tuple[Tensor, Tensor]:
        """Return the memory and the hidden state, each (B, H), at time dt (B,) after the sample with this state."""
        c, level, rate, out = state
        c = level + (c - level) * torch.exp(-rate * dt.unsqueeze(-1))
        return c, out * torch.tanh(c)

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 7H), state four times (B, H), dt (B,)."""
        c, h = self.decayed(state, dt)
        H = self.output_size
        gates, rate = (projected + self.recurrent_map(h)).to(h.dtype).split([6 * H, H], dim=-1)
        add, forget, out, level_add, level_forget, candidate = torch.sigmoid(gates).chunk(6, dim=-1)
        z = 2 * candidate - 1
        c = forget * c + add * z
        level = level_forget * state[1] + level_add * z
        return out * torch.tanh(c), (c, level, F.softplus(rate), out)
