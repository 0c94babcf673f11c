from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from liquidtime._checks import check_choice
from liquidtime.cells.activations import HEAD_ACTIVATIONS
from liquidtime.cells.headed import HeadedCell


class CfCCell(HeadedCell):
    """The closed-form continuous-time cell with its time-continuous gate.

        h' = (1 - s)·g1 + s·g2,   s = σ(a·dt + c),   g1 = tanh(G1 b), g2 = tanh(G2 b), a = A b, c = C b

    with b = backbone([x ; h]) and G1, G2, A, C affine heads, stored in this order. With `gate_bias=False` there is
    no head C and the gate is the paper's literal equation, s = σ(-a·dt), in which g2 is its g and g1 its h.

    Initially, a gate is almost constant in time, so tasks in which neighbouring intervals have different meanings are
    learned late. With `switch_times` = (first, last), the biases of A and C are initialised so that the gates switch at
    times τ spread evenly over that range: s = σ(k·(dt - τ) + weighted inputs), k = 2H / (last - first).

    Args:
        input_size: D.
        hidden_size: H.
        gate_bias: whether the gate has the fourth head c.
        switch_times: first and last time at which gates initially switch, in the unit of dt; None for constant gates.
        head_activation: activation of g1 and g2, "tanh" or "lecun_tanh".
        **options: options of the backbone and the heads, see `HeadedCell`.

    """

    kind: ClassVar[str] = "gated"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        gate_bias: bool = True,
        switch_times: tuple[float, float] | None = None,
        head_activation: str = "tanh",
        **options: Any,
    ) -> None:
        check_choice("head_activation", head_activation, HEAD_ACTIVATIONS)
        super().__init__(input_size, hidden_size, 4 if gate_bias else 3, **options)
        self.gate_bias = gate_bias
        self.head_activation = head_activation
        if switch_times is not None:
            self._spread_switches(switch_times)

    def _spread_switches(self, times: tuple[float, float]) -> None:
        """Start the gate of unit j as a switch at τ_j = first + (last - first)·(j + ½) / H."""
        if not self.gate_bias:
            raise ValueError("`switch_times` needs the head c of the gate, but `gate_bias` is False; leave it True")
        if self.own_heads is not None:
            raise ValueError("`switch_times` sets the biases of the linear heads, so it has no effect with `head`")
        first, last = (float(time) for time in times)
        if not 0.0 <= first < last < math.inf:
            raise ValueError(f"`switch_times` must be two times of at least 0, the smaller one first; got {times!r}")
        H = self.hidden_size
        slope = 2.0 * H / (last - first)
        _, _, a, c = torch.split(self.heads.bias.data, H)
        a += slope
        c -= slope * (first + (last - first) * (torch.arange(H).to(c) + 0.5) / H)

    def gates(self, x: Tensor, h: Tensor, dt: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return g1, g2 and the gate s, each (B, H), from x (B, D), h (B, H) and dt (B, 1)."""
        act = HEAD_ACTIVATIONS[self.head_activation]
        g1, g2, a, *rest = self.head_values(x, h)
        s = torch.sigmoid(a * dt + rest[0]) if self.gate_bias else torch.sigmoid(-a * dt)
        return act(g1), act(g2), s

    def combine(self, x: Tensor, h: Tensor, dt: Tensor) -> Tensor:
        """Return the new hidden state (B, H)."""
        g1, g2, s = self.gates(x, h, dt)
        return (1 - s) * g1 + s * g2

    def form_options(self) -> dict[str, Any]:
        """Return the number of heads and the activation of g1 and g2."""
        return {"heads": 4 if self.gate_bias else 3, "head_activation": self.head_activation}
