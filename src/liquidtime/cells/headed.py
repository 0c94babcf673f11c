"""What the cells of the CfC family share: a backbone over [x ; h] and linear heads on top of it."""

from __future__ import annotations

from abc import abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.backbone import Backbone
from liquidtime.cells.cell import Cell
from liquidtime.errors import wrong_shape


class HeadedCell(Cell):
    """A cell whose new state is made of linear heads of a shared backbone, h' = combine(heads(backbone([x ; h])), dt).

    The heads are stored as the rows of one linear map, (heads·H, F), in the order that the subclass states.

    Args:
        input_size: D.
        hidden_size: H.
        heads: how many heads.
        backbone_units: U.
        backbone_layers: 0…n.
        backbone_activation: "relu", "silu", "gelu", "tanh" or "lecun_tanh".
        backbone_dropout: the share of backbone units dropped in training.
        dropout_placement: "every" or "after_first", see `Backbone`.
        init_gain: of the Xavier-uniform initial weights.
        polarity: (H, D + H) the synapses, on all heads: 0 where there is none, else +1 or -1, which the weight is
            multiplied by. Only for a cell without a backbone. The weights then start positive, so that each
            synapse starts with its polarity's sign.

    """

    mask: Tensor | None

    @named_arguments
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        heads: int,
        *,
        backbone_units: int = 128,
        backbone_layers: int = 1,
        backbone_activation: str = "lecun_tanh",
        backbone_dropout: float = 0.0,
        dropout_placement: str = "every",
        init_gain: float = 1.0,
        polarity: Tensor | None = None,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        self.backbone = Backbone(
            D + H,
            backbone_units,
            backbone_layers,
            backbone_activation,
            backbone_dropout,
            dropout_placement,
            init_gain,
        )
        self.heads = nn.Linear(self.backbone.out_features, heads * H)
        for head in torch.split(self.heads.weight.data, H):
            nn.init.xavier_uniform_(head, init_gain)
        nn.init.zeros_(self.heads.bias)
        mask = None
        if polarity is not None:
            if backbone_layers != 0:
                raise ValueError(f"`polarity` needs a cell with `backbone_layers` 0; got {backbone_layers}")
            if polarity.shape != (H, D + H):
                raise wrong_shape("polarity", "(H, D + H)", [H, D + H], polarity.shape)
            self.heads.weight.data.abs_()
            mask = polarity.to(self.heads.weight).repeat(heads, 1)
        self.register_buffer("mask", mask)

    def head_values(self, x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        """Return the heads of backbone([x ; h]), each (B, H), in the type of h, so that autocast keeps the state's."""
        b = self.backbone(torch.cat([x, h], dim=-1))
        weight = self.heads.weight if self.mask is None else self.heads.weight * self.mask
        return torch.split(F.linear(b, weight, self.heads.bias).to(h.dtype), self.hidden_size, dim=-1)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),), dt (B,) to the new hidden state (B, H), which is the output."""
        h = self.combine(x, state[0], dt.unsqueeze(-1))
        return h, (h,)

    @abstractmethod
    def combine(self, x: Tensor, h: Tensor, dt: Tensor) -> Tensor:
        """Return the new hidden state (B, H) from x (B, D), h (B, H) and dt (B, 1)."""
