from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import named_arguments
from liquidtime._types import State
from liquidtime.cells.lstm import LSTMCell


class QuotedPhasedLSTMCell(LSTMCell):
    """Phased LSTM with one period, shift and open ratio for all units, which uses the interval as the time.

        τ, r, s = softplus(·);   φ = ((dt - s) mod τ) / τ;   k = 2φ·r if φ < r/2;   2 - 2φ/r if φ < r;   α·φ else
        (h̃, m̃) = LSTM(x, (h, m));   m' = k·m̃ + (1 - k)·m;   h' = k·h̃ + (1 - k)·h

    The rising ramp is 2φ·r where the paper has 2φ/r, the leak α is always active, and there are no peepholes; see
    `PhasedLSTMCell` for the version in the paper. The state is (h, m).

    Args:
        input_size: D.
        hidden_size: H.
        leak: α.

    """

    uses_dt: ClassVar[bool] = True

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, leak: float = 1e-3) -> None:
        super().__init__(input_size, hidden_size, forget_bias=1.0)
        if not 0.0 <= leak < 1.0:
            raise ValueError(f"`leak` must be at least 0 and less than 1; got {leak!r}")
        self.leak = float(leak)
        self.raw_period = nn.Parameter(torch.zeros(1))
        self.raw_open_ratio = nn.Parameter(torch.zeros(1))
        self.raw_shift = nn.Parameter(torch.zeros(1))

    def openness(self, dt: Tensor) -> Tensor:
        """Return k (B, 1), how open the units are after an interval dt (B, 1)."""
        period, r, shift = (F.softplus(raw) for raw in (self.raw_period, self.raw_open_ratio, self.raw_shift))
        turns = (dt - shift) / period
        phase = turns - turns.floor()
        ramp = torch.where(phase < r / 2, 2 * phase * r, 2 - 2 * phase / r)
        return torch.where(phase < r, ramp, self.leak * phase)

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 4H), state ((B, H), (B, H)), dt (B,)."""
        h, m = state
        _, (shown, proposed) = super().advance(projected, state, dt)
        k = self.openness(dt.unsqueeze(-1))
        h, m = h + k * (shown - h), m + k * (proposed - m)
        return h, (h, m)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"leak={self.leak:g}"
