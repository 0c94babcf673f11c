from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from liquidtime._checks import named_arguments
from liquidtime._types import State
from liquidtime.baselines.recurrent.parts.decay import Decay
from liquidtime.cells.gru import GRUCell


class DecayGRUCell(GRUCell):
    """RNN-Decay: a gated recurrent unit whose state decays between samples.

        h' = GRU(x, h·exp(-max(0, w·dt + b)))

    Args:
        input_size: D.
        hidden_size: H.

    """

    uses_dt: ClassVar[bool] = True

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        self.decay = Decay(self.hidden_size)

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 3H), state ((B, H),), dt (B,)."""
        return super().advance(projected, (state[0] * self.decay(dt.unsqueeze(-1)),), dt)
