from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class QuotedCTLSTMCell(HoistedCell):
    """CT-LSTM whose output decays over the interval of the sample, while its memory does not decay.

        i, a, f, o, ā, f̄, d = W x + b + R h;   z = tanh(i)
        c' = σ(f)·c + σ(a)·z;   c̄' = σ(f̄)·c̄ + σ(ā)·z;   h' = σ(o)·tanh(c̄' + (c' - c̄')·exp(-softplus(d)·dt))

    The state is (h, c, c̄). In `CTLSTMCell`, as in the paper, the memory itself decays from sample to sample.

    Args:
        input_size: D.
        hidden_size: H.

    """

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, H, H)
        self.input_map = nn.Linear(D, 7 * H)
        self.recurrent_map = nn.Linear(H, 7 * H, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.recurrent_map.weight)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the gates that depends on the input, (..., 7H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 7H), state three times (B, H), dt (B,)."""
        h, c, level = state
        parts = (projected + self.recurrent_map(h)).to(h.dtype).chunk(7, dim=-1)
        z, rate = torch.tanh(parts[0]), F.softplus(parts[6])
        add, forget, out, level_add, level_forget = (torch.sigmoid(part) for part in parts[1:6])
        c, level = forget * c + add * z, level_forget * level + level_add * z
        h = out * torch.tanh(level + (c - level) * torch.exp(-rate * dt.unsqueeze(-1)))
        return h, (h, c, level)
