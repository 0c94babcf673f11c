from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from liquidtime._types import State
from liquidtime.cells import Cell
from liquidtime.compat.ncps.graphs import graph_of
from liquidtime.compat.ncps.names import wired_cfc_cell
from liquidtime.compat.ncps.torch.cfc_cell import CfCCell
from liquidtime.compat.ncps.torch.wrapped_cell import GraphCell


class ChainedCell(Cell):
    """Cells in a row, where the input of each is the new state of the previous one; the output is that of the last one.

    The state consists of their states side by side, (B, H), in the order of the row.

    Args:
        cells: cells with one state part, each with as many inputs as the previous one has units.

    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        super().__init__()
        row = list(cells)
        self.cells = nn.ModuleList(row)
        self.sizes = [cell.hidden_size for cell in row]
        self.input_size, self.output_size, self.state_sizes = row[0].input_size, self.sizes[-1], (sum(self.sizes),)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),), dt (B,)."""
        after = []
        for cell, h in zip(self.cells, torch.split(state[0], self.sizes, dim=-1), strict=True):
            x, _ = cell(x, (h,), dt)
            after.append(x)
        return x, (torch.cat(after, dim=-1),)


class WiredCfCCell(GraphCell):
    """One time step of a CfC with a wiring, with the interface of `ncps.torch.WiredCfCCell`.

    Each layer of neurons is a CfC without backbone that reads the previous layer where the wiring has a synapse, and
    all of itself. The use of the wiring is that of ncps: the polarity of synapses is ignored, as are synapses inside a
    layer and those that skip a layer, the time heads are not masked, the state is in the order of the layers, and the
    output is the whole last layer. A wired `lt.CfC` differs in all of this.

    Args:
        input_size: D; None for the number of inputs for which the wiring was built.
        wiring: a wiring of `liquidtime.compat.ncps.wirings`, of `ncps`, or of `liquidtime.wirings`.
        mode: "default", "pure" or "no_gate".

    """

    def __init__(self, input_size: int | None, wiring: Any, mode: str = "default") -> None:
        graph = graph_of(wiring, input_size)
        cells, before = [], graph.sensory
        for layer in graph.layers:
            own = np.ones((len(layer), len(layer)))
            mask = np.concatenate([before[:, list(layer)], own])
            cells.append(
                CfCCell(len(before), len(layer), mode, backbone_units=1, backbone_layers=0, sparsity_mask=mask).cell
            )
            before = graph.adjacency[list(layer)]
        super().__init__(ChainedCell(cells), wired_cfc_cell, wiring, graph)

    def forward(self, input: Tensor, hx: Tensor, timespans: Tensor | float) -> tuple[Tensor, Tensor]:
        """Take one step.

        Args:
            input: (B, D) the sample.
            hx: (B, H) the state, layer by layer.
            timespans: (B,) or (B, 1) time since the previous sample, or a number.

        Returns:
            The new state of the last layer, and (B, H) that of all layers.

        """
        return self.step("timespans", input, hx, timespans)

    @property
    def layer_sizes(self) -> list[int]:
        """Number of neurons in each layer, in the order of the state."""
        return list(cast(ChainedCell, self.cell).sizes)

    @property
    def num_layers(self) -> int:
        """Number of layers of neurons."""
        return len(self.layer_sizes)
