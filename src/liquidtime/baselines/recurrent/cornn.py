from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime._checks import check_positive, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class CoRNNCell(HoistedCell):
    """coRNN: coupled oscillators with damping and a driving force.

        y'' = tanh(W y + V y' + U x + b) - γ·y - ε·y'

    with z = y', in steps of Δ = step·dt / unfolds with the scheme

        z' = (z + Δ·(tanh(W y + V z + U x + b) - γ·y)) / (1 + Δ·ε);   y' = y + Δ·z'

    in which the damping is implicit. The energy γ·|y|² + |z|² then grows by at most Δ / (2ε - γ·Δ) per unit and step,
    whatever the weights are, if Δ < 2ε / γ. The state is (y, z).

    Args:
        input_size: D.
        hidden_size: H, the number of oscillators.
        step: factor of dt; the source uses a step of 0.042 per sample for long sequences.
        frequency: γ.
        damping: ε.
        unfolds: number of steps per sample.
        implicit: whether the damping is implicit; False as in the source code, z' = z + Δ·(tanh(·) - γ·y - ε·z).

    """

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        step: float = 0.042,
        frequency: float = 2.7,
        damping: float = 4.7,
        unfolds: int = 1,
        implicit: bool = True,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, H)
        self.step, self.frequency = check_positive("step", step), check_positive("frequency", frequency)
        self.damping = check_positive("damping", damping)
        self.unfolds = check_size("unfolds", unfolds)
        self.implicit = bool(implicit)
        self.input_map = nn.Linear(D, H)
        self.recurrent_map = nn.Linear(2 * H, H, bias=False)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the drive that depends on the input, (..., H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, H), state ((B, H), (B, H)), dt (B,)."""
        y, z = state
        delta = dt.unsqueeze(-1) * (self.step / self.unfolds)
        for _ in range(self.unfolds):
            drive = torch.tanh((projected + self.recurrent_map(torch.cat([y, z], dim=-1))).to(y.dtype))
            pushed = z + delta * (drive - self.frequency * y)
            z = pushed / (1 + delta * self.damping) if self.implicit else pushed - delta * self.damping * z
            y = y + delta * z
        return y, (y, z)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        oscillation = f"step={self.step:g}, frequency={self.frequency:g}, damping={self.damping:g}"
        return f"{oscillation}, unfolds={self.unfolds}, implicit={self.implicit}"
