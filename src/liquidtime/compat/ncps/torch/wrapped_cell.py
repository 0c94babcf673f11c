"""The base of the cells of this module tree, which contain a cell of this library and read checkpoints of `ncps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from liquidtime.cells import Cell
from liquidtime.compat.ncps.torch.timespans import step_interval
from liquidtime.wirings import Adjacency


class WrappedCell(nn.Module):
    """One time step in the conventions of `ncps`: the state is a tensor and is returned second.

    Args:
        cell: cell that takes the step; its state has one part.
        translate: function that converts a state dict of the `ncps` cell to one of `cell`, and leaves others unchanged.

    """

    def __init__(self, cell: Cell, translate: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> None:
        super().__init__()
        self.cell = cell
        self._translate = translate
        self.register_load_state_dict_pre_hook(_read_checkpoint)  # type: ignore[no-untyped-call]

    def step(self, argument: str, x: Tensor, h: Tensor, timespans: Tensor | float | None) -> tuple[Tensor, Tensor]:
        """Take one step from x (B, D), h (B, H) and the time, called `argument` in error messages."""
        y, (h,) = self.cell(x, (h,), step_interval(argument, timespans, x))
        return y, h


class GraphCell(WrappedCell):
    """A wrapped cell with the neurons of a wiring, and the properties that `ncps` provides for these.

    Args:
        cell: argument of `WrappedCell`.
        translate: argument of `WrappedCell`.
        wiring: wiring as passed by the caller.
        graph: graph that was built from it.

    """

    def __init__(
        self,
        cell: Cell,
        translate: Callable[[dict[str, Tensor]], dict[str, Tensor]],
        wiring: Any,
        graph: Adjacency,
    ) -> None:
        super().__init__(cell, translate)
        self._wiring, self._graph = wiring, graph

    @property
    def state_size(self) -> int:
        """H, the number of neurons."""
        return self._graph.units

    @property
    def sensory_size(self) -> int:
        """D, the number of inputs."""
        return self.cell.input_size

    @property
    def motor_size(self) -> int:
        """Number of motor neurons of the wiring."""
        return self._graph.output_size

    @property
    def output_size(self) -> int:
        """The same as `motor_size`."""
        return self.motor_size

    @property
    def synapse_count(self) -> int:
        """Number of synapses between neurons."""
        return self._graph.synapse_count

    @property
    def sensory_synapse_count(self) -> int:
        """Number of synapses from the inputs."""
        return self._graph.sensory_synapse_count


def _read_checkpoint(module: WrappedCell, state_dict: dict[str, Tensor], prefix: str, *_: Any) -> None:
    own = {key.removeprefix(prefix): key for key in state_dict if key.startswith(prefix)}
    entries = {name: state_dict[key] for name, key in own.items() if not name.startswith("cell.")}
    translated = module._translate(entries)
    if translated.keys() != entries.keys():
        for name in entries:
            del state_dict[own[name]]
        state_dict |= {f"{prefix}cell.{name}": value for name, value in translated.items()}
