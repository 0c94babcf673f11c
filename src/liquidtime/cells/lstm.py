from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_choice, check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.cells.linear import LINEAR


class LSTMCell(HoistedCell):
    """The long short-term memory, which ignores time.

        i, a, f, o = W x + b + R h;   m' = σ(f + forget_bias)·m + σ(a)·tanh(i);   h' = σ(o)·tanh(m')

    The gates are in the order candidate, input, forget, output, from one affine map with one bias vector, without
    peepholes. The state is (h, m).

    Args:
        input_size: D.
        hidden_size: H.
        forget_bias: constant that is added to the argument of the forget gate.
        products: "full" or "bf16", see `HeadedCell`.

    """

    uses_dt: ClassVar[bool] = False

    @named_arguments
    def __init__(self, input_size: int, hidden_size: int, *, forget_bias: float = 1.0, products: str = "full") -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H, H)
        check_choice("products", products, LINEAR)
        self.forget_bias = float(forget_bias)
        self.input_map = LINEAR[products](D, 4 * H)
        self.recurrent_map = LINEAR[products](H, 4 * H, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.zeros_(self.input_map.bias)
        nn.init.orthogonal_(self.recurrent_map.weight)

    def project(self, x: Tensor, dt: Tensor) -> Tensor:
        """Return the part of the gates that depends on the input, (..., 4H)."""
        projected: Tensor = self.input_map(x)
        return projected

    def advance(self, projected: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: projected (B, 4H), state ((B, H), (B, H)); dt is ignored."""
        h, m = state
        candidate, add, forget, out = (projected + self.recurrent_map(h)).to(h.dtype).chunk(4, dim=-1)
        m = torch.sigmoid(forget + self.forget_bias) * m + torch.sigmoid(add) * torch.tanh(candidate)
        h = torch.sigmoid(out) * torch.tanh(m)
        return h, (h, m)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"forget_bias={self.forget_bias:g}"
