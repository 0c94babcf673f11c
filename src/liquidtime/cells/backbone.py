"""The layers that the heads of a CfC share."""

from __future__ import annotations

import itertools

from torch import Tensor, nn

from liquidtime._checks import check_choice, check_rate, check_size
from liquidtime.cells.activations import ACTIVATIONS
from liquidtime.cells.linear import LINEAR
from liquidtime.cells.plain import note_methods

DROPOUT_PLACEMENTS = ("every", "after_first")


class Backbone(nn.Module):
    """A stack of 0…n dense layers: b = drop(act(W_n … drop(act(W_1 z + b_1)) … + b_n)).

    Args:
        in_features: the width of z.
        units: U, the width of each layer.
        layers: number of layers; with 0 the backbone is the identity.
        activation: "relu", "silu", "gelu", "tanh" or "lecun_tanh".
        dropout: fraction of the units that are dropped in training.
        dropout_placement: "every" drops after every layer, "after_first" only from the second layer on, so that a
            backbone of one layer has none (the paper's TensorFlow code does the first, its PyTorch code the second).
        gain: gain of the Xavier-uniform initial weights; biases start at 0.
        products: "full", in the type of the weights, or "bf16", see `HeadedCell`.

    """

    def __init__(
        self,
        in_features: int,
        units: int = 128,
        layers: int = 1,
        activation: str = "lecun_tanh",
        dropout: float = 0.0,
        dropout_placement: str = "every",
        gain: float = 1.0,
        products: str = "full",
    ) -> None:
        super().__init__()
        depth = check_size("backbone_layers", layers, least=0)
        check_choice("backbone_activation", activation, ACTIVATIONS)
        check_choice("dropout_placement", dropout_placement, DROPOUT_PLACEMENTS)
        check_choice("products", products, LINEAR)
        self.in_features = in_features
        self.out_features = check_size("backbone_units", units) if depth else in_features
        self.activation = activation
        self.dropout_placement = dropout_placement
        widths = [in_features] + [self.out_features] * depth
        self.layers = nn.ModuleList(LINEAR[products](m, n) for m, n in itertools.pairwise(widths))
        self.dropout = nn.Dropout(check_rate("backbone_dropout", dropout))
        for layer in self.layers:
            nn.init.xavier_uniform_(layer.weight, gain)  # type: ignore[arg-type]
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    def forward(self, z: Tensor) -> Tensor:
        """Map z (B, in_features) to (B, out_features)."""
        activation = ACTIVATIONS[self.activation]
        for index, layer in enumerate(self.layers):
            z = activation(layer(z))
            if self.dropout_placement == "every" or index > 0:
                z = self.dropout(z)
        return z

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"activation={self.activation}, dropout_placement={self.dropout_placement}"


note_methods(Backbone)
