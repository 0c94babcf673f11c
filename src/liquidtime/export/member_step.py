"""One more step of one network of an ensemble, as elementwise torch and products; and its read-out as a table."""

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
    """One step of a recurrent layer, by the definitions of its cells.

    Args:
        layer: a layer that only runs forward, in evaluation mode.

    Attributes:
        sizes: widths of the parts of its state, cell by cell.
    """

    def __init__(self, layer: Recurrent) -> None:
        super().__init__()
        if layer.bidirectional:
            raise ValueError(
                "the layer runs in both directions of time, so it cannot process single steps and cannot be exported"
            )
        for cell in layer.cells:
            like = torch.empty(1, 0)
            if any(bool(part.any()) for part in cast(Cell, cell).initial_state(like)):
                raise ValueError(f"{type(cell).__name__} does not start from a state of zeros; it cannot be exported")
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
    """One network: its layer, the pooling of its outputs, and its read-out.

    Args:
        layout: layout to which fields are added.
        member: position of the network, for the names of fields.
        network: the network in evaluation mode; it must support single steps.
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
        names = [f"h{k}, state of the layer" for k in range(len(self.layer.sizes))]
        names += ["sum of the layer's outputs", "largest of the layer's outputs"]
        self.parts = [*self.layer.sizes, H, H]
        of, held = (
            f"member {member}: ",
            "; ".join(f"{name} ({size})" for name, size in zip(names, self.parts, strict=True)),
        )
        self.fields = {
            when: layout.add(of + when, "float", sum(self.parts), f"{when} the open step: {held}")
            for when in ("before", "after")
        }
        self.fields["y"] = layout.add(of + "output", "float", H, "output of the layer after the open step")

    def advance(self, state: Fields, step: OpenStep, opens: Tensor, steps: Tensor) -> Fields:
        """Return the state of the network after the open step.

        Args:
            state: state before the sample.
            step: the open step, including the sample.
            opens: (B, 1) whether the sample opened the step; if not, the step is repeated from the state before it.
            steps: (B, 1) number of steps, including the open one.
        """
        before = torch.where(opens, state["after"], state["before"])
        *h, total, largest = torch.split(before, self.parts, dim=-1)
        y, after = self.layer(step.x, tuple(h), step.dt)
        largest = torch.where(steps > 1, torch.maximum(largest, y), y)
        return {"before": before, "after": torch.cat([*after, total + y, largest], dim=-1), "y": y}

    def read(self, state: Fields, step: OpenStep, steps: Tensor, static: Tensor) -> Tensor:
        """Return (B, K) the outputs."""
        *_, total, largest = torch.split(state["after"], self.parts, dim=-1)
        mean = total / steps.clamp(min=1.0).float()
        pooled = linear(torch.cat([state["y"], mean, largest], dim=-1), self.weight, self.bias)
        if len(self.rows):
            seen = torch.cat([step.x, step.history, static], dim=-1)[:, self.columns]
            parts = (self.knots, self.pieces, self.low, self.width, self.corners, self.rows)
            pooled = pooled + interpolate(seen, *parts)
        out: Tensor = self.read_out(silu(pooled))
        return out
