from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell


class ExpRNNCell(HoistedCell):
    """A network with an orthogonal recurrent matrix (Lezcano-Casado and Martínez-Rubio 2019), which ignores time.

        z = W x + R h,   R = exp(S - Sᵀ);   h' = sign(z)·relu(|z| + b)

    S is lower triangular and learned without constraints, by the parametrisation of torch. Initially R rotates pairs of
    units by angles drawn from (-π, π).

    Args:
        input_size: D.
        hidden_size: H.

    """

    uses_dt: ClassVar[bool] = False

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.input_map = nn.Linear(D, H, bias=False)
        nn.init.kaiming_normal_(self.input_map.weight)
        self.recurrent_map = nn.Linear(H, H, bias=False)
        with torch.no_grad():
            self.recurrent_map.weight.copy_(turns(H))
        orthogonal(self.recurrent_map, orthogonal_map="matrix_exp", use_trivialization=False)
        self.bias = nn.Parameter(torch.empty(H).uniform_(-0.01, 0.01))

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the state that depends on the input, (..., H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, H), state ((B, H),); dt is ignored."""
        z = (projected + self.recurrent_map(state[0])).to(state[0].dtype)
        h = torch.sign(z) * torch.relu(z.abs() + self.bias)
        return h, (h,)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence with one matrix exponential; see `Cell.scan`."""
        self.check_stored(x, state, dt, lengths)
        with parametrize.cached():
            return super().scan(x, state, dt, lengths)


def turns(size: int) -> Tensor:
    """Return strictly lower triangular S (H, H) for which exp(S - Sᵀ) rotates pairs of axes by angles in (-π, π)."""
    below = torch.zeros(size - 1)
    below[::2] = torch.empty(size // 2).uniform_(-math.pi, math.pi)
    return torch.diag(below, -1)
