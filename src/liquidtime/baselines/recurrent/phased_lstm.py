from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import named_arguments
from liquidtime._types import State
from liquidtime.cells.lstm import LSTMCell


class PhasedLSTMCell(LSTMCell):
    """Phased LSTM: a long short-term memory whose units open briefly in each of their periods.

        φ = (t - s) / τ mod 1;   k = 2φ / r  if φ < r/2;   2 - 2φ / r  if φ < r;   α·φ  else
        (h̃, m̃) = LSTM(x, (h, m)) with peepholes;   m' = k·m̃ + (1 - k)·m;   h' = k·h̃ + (1 - k)·h

    τ and s are learned for each unit. The leak α is used only in training; without it a closed unit does not change.
    The time t is the sum of the intervals and is part of the state, (h, m, t). A peephole is one weight per unit, and
    that of the output gate reads m̃. With `full_peepholes`, as in the cell of TensorFlow, all three are matrices on the
    old memory m.

    Args:
        input_size: D.
        hidden_size: H.
        periods: smallest and largest initial period τ, drawn evenly on a logarithmic scale.
        open_ratio: r, the open fraction of a period.
        leak: α.
        full_peepholes: whether peepholes are matrices on the old memory.

    """

    uses_dt: ClassVar[bool] = True

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        periods: tuple[float, float] = (1.0, 20.0),
        open_ratio: float = 0.05,
        leak: float = 1e-3,
        full_peepholes: bool = False,
    ) -> None:
        super().__init__(input_size, hidden_size, forget_bias=0.0)
        least, largest = (float(period) for period in periods)
        if not 0.0 < least <= largest < math.inf:
            raise ValueError(f"`periods` must be two positive finite numbers, the smaller one first; got {periods!r}")
        if not 0.0 < open_ratio <= 1.0:
            raise ValueError(f"`open_ratio` must be greater than 0 and at most 1; got {open_ratio!r}")
        if not 0.0 <= leak < 1.0:
            raise ValueError(f"`leak` must be at least 0 and less than 1; got {leak!r}")
        H = self.hidden_size
        self.state_sizes = (H, H, 1)
        self.open_ratio, self.leak = float(open_ratio), float(leak)
        self.log_period = nn.Parameter(torch.empty(H).uniform_(math.log(least), math.log(largest)))
        self.shift = nn.Parameter(torch.rand(H) * self.log_period.detach().exp())
        self.full_peepholes = bool(full_peepholes)
        self.peephole = nn.Parameter(torch.zeros(3, H, H) if self.full_peepholes else torch.zeros(3, H))

    def openness(self, t: Tensor) -> Tensor:
        """Return k (B, H), how open each unit is at times t (B, 1)."""
        turns = (t - self.shift) * torch.exp(-self.log_period)
        phase = turns - turns.floor()
        r = self.open_ratio
        ramp = torch.where(phase < r / 2, 2 * phase / r, 2 - 2 * phase / r)
        return torch.where(phase < r, ramp, (self.leak if self.training else 0.0) * phase)

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 4H), state ((B, H), (B, H), (B, 1)), dt (B,)."""
        h, m, t = state
        t = t + dt.unsqueeze(-1)
        candidate, add, forget, out = (projected + self.recurrent_map(h)).to(h.dtype).chunk(4, dim=-1)
        see_add, see_forget, see_out = self.peephole
        if self.full_peepholes:
            add, forget, out = add + m @ see_add.mT, forget + m @ see_forget.mT, out + m @ see_out.mT
        else:
            add, forget = add + see_add * m, forget + see_forget * m
        proposed = torch.sigmoid(forget) * m + torch.sigmoid(add) * torch.tanh(candidate)
        shown = torch.sigmoid(out if self.full_peepholes else out + see_out * proposed) * torch.tanh(proposed)
        k = self.openness(t)
        h, m = h + k * (shown - h), m + k * (proposed - m)
        return h, (h, m, t)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"open_ratio={self.open_ratio:g}, leak={self.leak:g}, full_peepholes={self.full_peepholes}"
