from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from liquidtime._checks import check_choice
from liquidtime.cells import VARIANTS, CfSCell, HeadedCell
from liquidtime.compat.ncps.names import cfc_cell
from liquidtime.compat.ncps.torch.wrapped_cell import WrappedCell
from liquidtime.errors import wrong_shape

MODES = {"default": "cfc", "pure": "cf_s", "no_gate": "no_gate"}


class CfCCell(WrappedCell):
    """One time step of a CfC, with the interface of `ncps.torch.CfCCell`.

    Args:
        input_size: D.
        hidden_size: H.
        mode: "default", "pure" (`CfSCell`) or "no_gate".
        backbone_activation: "silu", "relu", "tanh", "gelu" or "lecun_tanh".
        backbone_units: U.
        backbone_layers: 0…n.
        backbone_dropout: dropout from the second layer of the backbone on, as in ncps.
        sparsity_mask: (D + H, H) array, 0 where there is no connection, only for the first two heads, as in ncps.

    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        mode: str = "default",
        backbone_activation: str = "lecun_tanh",
        backbone_units: int = 128,
        backbone_layers: int = 1,
        backbone_dropout: float = 0.0,
        sparsity_mask: Any = None,
    ) -> None:
        check_choice("mode", mode, MODES)
        options: dict[str, Any] = {
            "backbone_activation": backbone_activation,
            "backbone_units": backbone_units,
            "backbone_layers": backbone_layers,
            "backbone_dropout": backbone_dropout,
            "dropout_placement": "after_first",
        }
        cell = VARIANTS[MODES[mode]](input_size, hidden_size, **options)
        _start_as_ncps(cell)
        if sparsity_mask is not None:
            cell.mask = _mask(sparsity_mask, cell)
        super().__init__(cell, cfc_cell)
        self.input_size, self.hidden_size, self.mode = input_size, hidden_size, mode
        self.backbone_layers = backbone_layers

    def forward(self, input: Tensor, hx: Tensor, ts: Tensor | float) -> tuple[Tensor, Tensor]:
        """Take one step.

        Args:
            input: (B, D) the sample.
            hx: (B, H) the hidden state.
            ts: (B,) or (B, 1) time since the previous sample, or a number.

        Returns:
            (B, H) the new hidden state, twice.

        """
        return self.step("ts", input, hx, ts)


def _start_as_ncps(cell: HeadedCell) -> None:
    """Initialise as ncps does: biases as in `nn.Linear`, and A and wτ of the direct solution."""
    for linear in cell.modules():
        if isinstance(linear, nn.Linear):
            reach = 1 / math.sqrt(linear.in_features)
            nn.init.uniform_(linear.bias, -reach, reach)
    if isinstance(cell, CfSCell):
        for vector in (cell.A, cell.w_tau):
            nn.init.xavier_uniform_(vector.data.unsqueeze(0))


def _mask(sparsity_mask: Any, cell: HeadedCell) -> Tensor:
    own = torch.as_tensor(np.abs(np.asarray(sparsity_mask)).T, dtype=cell.heads.weight.dtype)  # (H, D + H)
    H, width = cell.hidden_size, cell.heads.in_features
    if own.shape != (H, width):
        raise wrong_shape("sparsity_mask", "(D + H, H)", [width, H], own.T.shape)
    heads = cell.heads.out_features // H
    return torch.cat([own] * min(heads, 2) + [torch.ones_like(own)] * max(heads - 2, 0))
