"""The base of the cells of the CfC family: a backbone over [x ; h] with linear heads."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from liquidtime._checks import check_size, named_arguments
from liquidtime._types import State
from liquidtime.cells.backbone import Backbone
from liquidtime.cells.cell import Cell
from liquidtime.cells.fused import Fused, is_linear
from liquidtime.cells.linear import LINEAR
from liquidtime.cells.own_parts import MakeBackbone, MakeHead, own_backbone, own_heads
from liquidtime.cells.plain import is_as_defined, is_plain
from liquidtime.errors import wrong_shape
from liquidtime.ops.cfc_scan import Form
from liquidtime.ops.products import linear_bf16

_DEFINITIONS: dict[str, type[HeadedCell]] = {}  # the first class of each kind


class HeadedCell(Cell):
    """A cell whose new state comes from linear heads of a shared backbone, h' = combine(heads(backbone([x ; h])), dt).

    The heads are stored as the rows of one linear map, (heads·H, F), in the order that the subclass documents.

    Args:
        input_size: D.
        hidden_size: H.
        heads: number of heads.
        backbone_units: U.
        backbone_layers: number of layers of the backbone, 0…n.
        backbone_activation: "relu", "silu", "gelu", "tanh" or "lecun_tanh".
        backbone_dropout: fraction of the backbone units that are dropped in training.
        dropout_placement: "every" or "after_first", see `Backbone`.
        init_gain: gain of the Xavier-uniform initial weights.
        polarity: (H, D + H) the synapses, for all heads: 0 where there is none, otherwise +1 or -1, by which the weight
            is multiplied. Only for a cell without a backbone. The weights then start positive, so that each synapse
            starts with the sign of its polarity.
        products: "full", in the type of the weights, or "bf16": weights, [x ; h] and the outputs of layers are rounded
            to bf16 before they are multiplied, forward and backward; sums, biases, gates and the state stay float32.
            This is faster if the processor has an instruction for it (see `liquidtime info`), and slower otherwise.
        backbone: a function from the width of [x ; h] to a module that replaces the dense backbone: any network from
            (B, D + H) to (B, F). Such a cell runs in the plain loop.
        head: a function from (F, H) to a module from (B, F) to (B, H) that replaces a linear head; it is called once
            per head. Such a cell runs in the plain loop.

    """

    kind: ClassVar[str]  # of the scan that runs this very class; a subclass has no scan unless it states its own kind,
    # or if it replaces a method of the first class of that kind
    recompute: bool = False  # whether a scan keeps the state only every √T steps and recomputes the rest
    mask: Tensor | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in cls.__dict__:
            _DEFINITIONS.setdefault(cls.kind, cls)

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
        products: str = "full",
        backbone: MakeBackbone | None = None,
        head: MakeHead | None = None,
    ) -> None:
        super().__init__()
        D, H = check_size("input_size", input_size), check_size("hidden_size", hidden_size)
        self.input_size, self.output_size, self.state_sizes = D, H, (H,)
        if polarity is not None and (backbone is not None or head is not None):
            raise ValueError("`polarity` applies to the linear heads; leave out `backbone` and `head`")
        self.backbone: nn.Module
        if backbone is None:
            dense = Backbone(
                D + H,
                backbone_units,
                backbone_layers,
                backbone_activation,
                backbone_dropout,
                dropout_placement,
                init_gain,
                products,
            )
            self.backbone, features = dense, dense.out_features
        else:
            self.backbone, features = own_backbone(backbone, D + H)
        self.products = products
        self.own_heads: nn.ModuleList | None = None
        mask = None
        if head is not None:
            self.own_heads = own_heads(head, features, H, heads)
            self.register_buffer("mask", None)
            return
        self.heads = LINEAR[products](features, heads * H)
        for part in torch.split(self.heads.weight.data, H):
            nn.init.xavier_uniform_(part, init_gain)
        nn.init.zeros_(self.heads.bias)
        if polarity is not None:
            if backbone_layers != 0:
                raise ValueError(f"`polarity` requires `backbone_layers` 0; got {backbone_layers}")
            if polarity.shape != (H, D + H):
                raise wrong_shape("polarity", "(H, D + H)", [H, D + H], polarity.shape)
            self.heads.weight.data.abs_()
            mask = polarity.to(self.heads.weight).repeat(heads, 1)
        self.register_buffer("mask", mask)

    def head_values(self, x: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        """Return the heads of backbone([x ; h]), each (B, H), in the type of h, so that autocast keeps that type."""
        b = self.backbone(torch.cat([x, h], dim=-1))
        if self.own_heads is not None:
            return tuple(head(b).to(h.dtype) for head in self.own_heads)
        if self.mask is None:
            values = self.heads(b)
        else:
            if self.heads._forward_pre_hooks:  # such as of `prune`, which make the weight anew at every call
                raise NotImplementedError(
                    "the heads of a wired cell are not called, so that their forward pre-hooks would not run; use "
                    "torch.nn.utils.parametrize, or torch.nn.utils.prune.remove"
                )
            product = linear_bf16 if self.products == "bf16" else F.linear
            values = product(b, self.heads.weight * self.mask, self.heads.bias)
        return torch.split(values.to(h.dtype), self.hidden_size, dim=-1)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),), dt (B,) to the new hidden state (B, H), which is the output."""
        h = self.combine(x, state[0], dt.unsqueeze(-1))
        return h, (h,)

    @abstractmethod
    def combine(self, x: Tensor, h: Tensor, dt: Tensor) -> Tensor:
        """Return the new hidden state (B, H) from x (B, D), h (B, H) and dt (B, 1)."""

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence, in one operation if there is one; see `Cell.scan`."""
        self.check_stored(x, state, dt, lengths)
        fused = self.fused()
        done = None if fused is None else fused.scan(x, state, dt, lengths)
        return super().scan(x, state, dt, lengths) if done is None else done

    def fused(self) -> Fused | None:
        """Return the cell as one operation over a sequence, or None if there is no such operation."""
        return self.fused_if_plain() if is_plain(self) else None

    def fused_if_plain(self) -> Fused | None:
        """Return the same for a cell that is known to satisfy `is_plain`, such as a part of a plain cell."""
        kind = type(self)
        if "kind" not in kind.__dict__ or not is_as_defined(kind, _DEFINITIONS[kind.kind]):
            return None
        backbone = self.backbone
        if self.own_heads is not None or type(backbone) is not Backbone:
            return None
        heads, layers, dropout = self.heads, backbone.layers, backbone.dropout
        if type(layers) is not nn.ModuleList or type(dropout) is not nn.Dropout:
            return None
        products, mask = self.products, self.mask
        weights: list[Tensor] = []
        for part in (*layers, heads):
            if not is_linear(part, products) or part.bias is None:
                return None
            weights += (part.weight, part.bias)
        if mask is not None:
            weights[-2] = weights[-2] * mask
        weights += self.form_vectors()
        rate = dropout.p if dropout.training else 0.0
        dropping = rate > 0 and len(layers) > 0
        every = backbone.dropout_placement == "every"
        form = Form(
            kind=kind.kind,
            layers=len(layers),
            activation=backbone.activation,
            masked=tuple(every or index > 0 for index in range(len(layers))) if dropping else (),
            products=products,
            **self.form_options(),
        )
        if weights[2 * len(layers)].shape[0] != form.heads * self.hidden_size:
            return None
        return Fused(form, weights, backbone.out_features, rate, self.recompute)

    def form_options(self) -> dict[str, Any]:
        """Return the number of heads, and the settings of `Form` that only this kind of cell has."""
        return {"heads": 1}

    def form_vectors(self) -> list[Tensor]:
        """Return the vectors (H,) that follow the heads of this kind of cell."""
        return []
