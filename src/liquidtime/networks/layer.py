"""Builds a recurrent layer from the argument `network=` of an estimator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeGuard

from liquidtime.cells import Cell
from liquidtime.layers import Recurrent
from liquidtime.networks.table import entry_of

Network: TypeAlias = str | Callable[[int], Cell]
"""A name in the table, or a function from the number of inputs to a cell, which sets its own sizes."""


def reads_whole_series(network: object) -> TypeGuard[str]:
    """Return whether `network` is the name of a model that cannot run step by step.

    Raises:
        ValueError: the name is not in the table.

    """
    return isinstance(network, str) and entry_of(network).reads_series


def check_network(network: object, num_layers: int = 1) -> None:
    """Refuse anything but a network of the table or a function, and layers that cannot be stacked.

    Raises:
        ValueError: the name is not in the table, or there are too many layers.
        TypeError: neither a name nor a function.

    """
    if not isinstance(network, str):
        if not callable(network):
            raise TypeError(
                f"`network` must be a name or a function from the number of inputs to a Cell; got {network!r}"
            )
        return
    entry = entry_of(network)
    if num_layers != 1 and not entry.stackable:
        reason = "which has no layers to stack" if entry.reads_series else "whose second layer would have no masks"
        raise ValueError(f"`num_layers` must be 1 for network={network!r}, {reason}; got {num_layers}")


def recurrent_layer(
    network: Network,
    input_size: int,
    hidden_size: int,
    backbone_units: int | None = None,
    num_layers: int = 1,
    masks: Sequence[int] = (),
    bidirectional: bool = False,
    **options: Any,
) -> Recurrent:
    """Return a layer of a network that runs step by step.

    Args:
        network: a name in the table, or a function from the number of inputs to a `Cell`.
        input_size: D.
        hidden_size: H.
        backbone_units: U, used by networks with a backbone; None for the cell's default.
        num_layers: number of stacked layers.
        masks: (K,) for each of the first K inputs, the column that says whether it was observed; empty if there are
            none. Only the first layer uses them: later layers read outputs, which are all observed.
        bidirectional: whether each layer also runs backwards in time; then no layer reads masks.
        **options: further arguments of the constructor of a cell of the table.

    Raises:
        ValueError: the name is not in the table or reads whole series, layers cannot be stacked, or masks are required
            and missing.
        TypeError: neither a name nor a function, or the function does not return a `Cell`.

    """
    check_network(network, num_layers)
    if not isinstance(network, str):
        make = functools.partial(_own_cell, network)
        return Recurrent(make, input_size, num_layers=num_layers, bidirectional=bidirectional)
    entry = entry_of(network)
    if entry.reads_series:
        raise ValueError(f"`network` must run step by step; {network!r} reads whole series. Use 'cfc', for example.")
    if entry.masks == "required" and not masks:
        raise ValueError(
            f"`network` {network!r} needs inputs that say which values were observed, and these have none. "
            "Encode the series with the blocks 'values' and 'mask', or use a network without masks such as 'gru'."
        )
    first = iter([() if bidirectional else masks])
    return Recurrent(
        lambda width: entry.cell(width, hidden_size, backbone_units, next(first, ()), **options),
        input_size,
        num_layers=num_layers,
        bidirectional=bidirectional,
    )


def _own_cell(make: Callable[[int], Cell], width: int) -> Cell:
    cell = make(width)
    if not isinstance(cell, Cell):
        raise TypeError(f"`network` must return a Cell; got {type(cell).__name__}")
    return cell
