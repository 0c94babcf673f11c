from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from liquidtime._checks import check_size
from liquidtime._types import State
from liquidtime.cells.cell import Cell
from liquidtime.cells.cfc import CfCCell
from liquidtime.cells.fused import Fused
from liquidtime.cells.headed import HeadedCell
from liquidtime.cells.plain import is_plain
from liquidtime.wirings import Adjacency, Wiring


class WiredCfCCell(Cell):
    """A CfC with the connections of a wiring: one small CfC without backbone for each layer of neurons.

    The layers are stepped in the order in which signals flow. A neuron reads the sensory neurons and the neurons of
    earlier layers (their new state) and the neurons of its own and of later layers (their old state), each only if the
    wiring has a synapse, and its own old state even without a synapse, as an LTC neuron keeps it in its membrane. The
    masks, with the polarity of the synapses, apply to all heads. The state is in the order of neuron ids, as in
    `LTCCell`, and the outputs are its first `output_size` neurons.

    Args:
        input_size: D.
        wiring: which neurons have synapses.
        kind: the cell of each layer: `CfCCell`, `CfCNoGateCell`, `CfSCell` or `CfSPaperCell`.
        **options: options of `kind`, except those of the backbone.

    """

    order: Tensor
    positions: Tensor
    recompute: bool = False  # whether a scan keeps the state only every √T steps and recomputes the rest

    def __init__(self, input_size: int, wiring: Wiring, kind: type[HeadedCell] = CfCCell, **options: Any) -> None:
        super().__init__()
        D = check_size("input_size", input_size)
        graph = wiring.build(D)
        self.wiring = wiring
        self.input_size, self.output_size, self.state_sizes = D, graph.output_size, (graph.units,)
        self.layer_sizes = [len(layer) for layer in graph.layers]
        self.sources = [_sources(graph, index) for index in range(len(graph.layers))]
        self.cells = nn.ModuleList()
        for index, layer in enumerate(graph.layers):
            block = np.concatenate(
                [_block(graph, source, layer) for source in self.sources[index]] + [_own(graph, layer)]
            )
            polarity = torch.tensor(block.T, dtype=torch.get_default_dtype())  # (n, inputs + n)
            self.cells.append(
                kind(len(block) - len(layer), len(layer), backbone_layers=0, polarity=polarity, **options)
            )
        self.products: str = options.get("products", "full")
        by_layer = [neuron for layer in graph.layers for neuron in layer]
        motors = range(graph.output_size)
        self.motor_layers = [k for k, layer in enumerate(graph.layers) if any(neuron in motors for neuron in layer)]
        among = [neuron for k in self.motor_layers for neuron in graph.layers[k]]
        self.motor_columns = [among.index(neuron) for neuron in motors]
        self.register_buffer("order", torch.tensor(by_layer), persistent=False)
        self.register_buffer("positions", torch.tensor(np.argsort(by_layer)), persistent=False)

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step: x (B, D), state ((B, H),) in the order of neuron ids, dt (B,)."""
        values = list(torch.split(state[0][:, self.order], self.layer_sizes, dim=-1))
        for index, cell in enumerate(self.cells):
            read = [x if source == SENSORS else values[source] for source in self.sources[index]]
            values[index], _ = cell(torch.cat(read, dim=-1), (values[index],), dt)
        h = torch.cat(values, dim=-1)[:, self.positions]
        return h[:, : self.output_size], (h,)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence, in one operation for each layer of neurons if possible.

        If no layer reads a later one, as in every NCP, all other inputs of a layer are known once the earlier layers
        have run over the whole sequence. If a wiring feeds a later layer back to an earlier one, there is no such order
        and the plain loop runs; see `Cell.scan`.
        """
        self.check_stored(x, state, dt, lengths)
        done = self._scan_by_layer(x, state, dt, lengths)
        return super().scan(x, state, dt, lengths) if done is None else done

    def _scan_by_layer(
        self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None
    ) -> tuple[Tensor, State] | None:
        """Run one layer of neurons after another over the sequence, or return None if that is not possible."""
        scans = self.fused()
        if scans is None:
            return None
        starts = torch.split(state[0][:, self.order], self.layer_sizes, dim=-1)
        after: list[Tensor] = []
        ends: list[Tensor] = []
        for scan, sources, start in zip(scans, self.sources, starts, strict=True):
            read = [x if source == SENSORS else after[source] for source in sources]
            done = scan.scan(_joined(read), (start,), dt, lengths)
            if done is None:
                return None
            after.append(done[0])
            ends.append(done[1][0])
        h = torch.cat(ends, dim=-1)[:, self.positions]
        y = _joined([after[layer] for layer in self.motor_layers])
        columns = self.motor_columns
        return y[..., : len(columns)] if columns == [*range(len(columns))] else y[..., columns], (h,)

    def fused(self) -> list[Fused] | None:
        """Return each layer of neurons as one operation over a sequence, or None if there is no such operation."""
        if type(self) is not WiredCfCCell or not is_plain(self) or len(self.motor_columns) != self.output_size:
            return None
        if any(source > index for index, sources in enumerate(self.sources) for source in sources):
            return None
        scans: list[Fused] = []
        for cell in self.cells:
            scan = cell.fused_if_plain() if isinstance(cell, HeadedCell) else None
            if scan is None:
                return None
            scan.recompute = self.recompute
            scans.append(scan)
        return scans


SENSORS = -1


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)


def _sources(graph: Adjacency, index: int) -> list[int]:
    """Return what layer `index` reads besides itself: SENSORS, or other layers with at least one synapse onto it."""
    layer = graph.layers[index]
    others = [SENSORS] + [other for other in range(len(graph.layers)) if other != index]
    connected = [source for source in others if _block(graph, source, layer).any()]
    return connected or [SENSORS]


def _block(graph: Adjacency, source: int, layer: tuple[int, ...]) -> npt.NDArray[np.int8]:
    rows = graph.sensory if source == SENSORS else graph.adjacency[list(graph.layers[source])]
    block: npt.NDArray[np.int8] = rows[:, list(layer)]
    return block


def _own(graph: Adjacency, layer: tuple[int, ...]) -> npt.NDArray[np.int8]:
    """Return the synapses inside a layer, with +1 for each neuron that has none onto itself."""
    block = graph.adjacency[np.ix_(layer, layer)].copy()
    missing = np.flatnonzero(block.diagonal() == 0)
    block[missing, missing] = 1
    own: npt.NDArray[np.int8] = block
    return own
