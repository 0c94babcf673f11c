"""One network of an ensemble, one step more, as elementwise torch and products; and its read-out as a table."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, silu

from liquidtime._types import State
from liquidtime.cells import Cell
from liquidtime.estimators.network import SeriesNetwork
from liquidtime.estimators.network.table import ReadOutTable, interpolate
from liquidtime.export.encoding_step import Fields, OpenStep
from liquidtime.export.layout import Layout
from liquidtime.layers import Recurrent


class LayerStep(nn.Module):
    """One step of a recurrent layer by its cells' own definitions.

    Args:
        layer: forward in time only, in evaluation.

    Attributes:
        sizes: widths of the parts of its state, cell after cell.
    """

    def __init__(self, layer: Recurrent) -> None:
        super().__init__()
        if layer.bidirectional:
            raise ValueError(
                "the layer runs in both directions of time and takes no single steps; it cannot be exported"
            )
        for cell in layer.cells:
            like = torch.empty(1, 0)
            if any(bool(part.any()) for part in cast(Cell, cell).initial_state(like)):
                raise ValueError(f"{type(cell).__name__} starts from a state that is not 0; it cannot be exported")
        self.layer = layer
        self.parts = [len(cast(Cell, cell).state_sizes) for cell in layer.cells]
        self.sizes = [size for cell in layer.cells for size in cast(Cell, cell).state_sizes]

    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Return the output (B, ·) and the state after x (B, D), as a flat tuple of (B, ·) parts."""
        after: list[Tensor] = []
        y, rest = x, list(state)
        for cell, count in zip(self.layer.cells, self.parts, strict=True):
            y, new = cell(y, tuple(rest[:count]), dt)
            rest, after = rest[count:], [*after, *new]
        if self.layer.projection is not None:
            y = self.layer.projection(y)
        return y, tuple(after)


class MemberStep(nn.Module):
    """One network: its layer, the pool of its outputs, its read-out.

    Args:
        layout: takes the fields.
        member: position of the network, for the fields' names.
        network: in evaluation; it must take single steps.
    """

    columns: Tensor
    knots: Tensor
    pieces: Tensor
    low: Tensor
    width: Tensor
    corners: Tensor
    rows: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, layout: Layout, member: int, network: SeriesNetwork) -> None:
        super().__init__()
        if not isinstance(network.recurrent, Recurrent):
            raise ValueError(network.recurrent.refusal)
        self.layer = LayerStep(network.recurrent)
        H = network.recurrent.output_size
        self.states_width = 3 * H
        table = ReadOutTable.of(network.pieces, network.hidden.weight[:, 3 * H :])
        for name, part in vars(table).items():
            self.register_buffer(name, part)
        self.register_buffer("weight", network.hidden.weight[:, : 3 * H].detach().clone())
        self.register_buffer("bias", network.hidden.bias.detach().clone())
        self.read_out = network.read_out
        names = {f"h{k}": (size, "state of the layer") for k, size in enumerate(self.layer.sizes)}
        names |= {"total": (H, "sum of the layer's outputs"), "largest": (H, "largest of the layer's outputs")}
        of = f"member {member}: "
        self.fields = {
            f"{when}_{name}": layout.add(of + f"{name} {when}", "float", size, f"{text}, {when} the open step")
            for when in ("before", "after")
            for name, (size, text) in names.items()
        }
        self.fields["y"] = layout.add(of + "output", "float", H, "output of the layer after the open step")
        self._names = list(names)

    def advance(self, state: Fields, step: OpenStep, opens: Tensor, steps: Tensor) -> Fields:
        """Return the network's state after the open step.

        Args:
            state: before the sample.
            step: the open step, the sample included.
            opens: (B, 1) whether the sample opened it; else it is taken again from the state before it.
            steps: (B, 1) number of steps, the open one included.
        """
        before = {name: torch.where(opens, state[f"after_{name}"], state[f"before_{name}"]) for name in self._names}
        y, h = self.layer(step.x, tuple(before[f"h{k}"] for k in range(len(self.layer.sizes))), step.dt)
        after = {f"h{k}": part for k, part in enumerate(h)}
        after["total"] = before["total"] + y
        after["largest"] = torch.where(steps > 1, torch.maximum(before["largest"], y), y)
        fields = {f"before_{name}": part for name, part in before.items()}
        return fields | {f"after_{name}": part for name, part in after.items()} | {"y": y}

    def read(self, state: Fields, step: OpenStep, steps: Tensor, static: Tensor) -> Tensor:
        """Return (B, K) the outputs."""
        mean = state["after_total"] / steps.clamp(min=1.0).float()
        pooled = linear(torch.cat([state["y"], mean, state["after_largest"]], dim=-1), self.weight, self.bias)
        if len(self.rows):
            seen = torch.cat([step.x, step.history, static], dim=-1)[:, self.columns]
            parts = (self.knots, self.pieces, self.low, self.width, self.corners, self.rows)
            pooled = pooled + interpolate(seen, *parts)
        out: Tensor = self.read_out(silu(pooled))
        return out
