"""The networks that an estimator takes by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from liquidtime.baselines import BASELINES
from liquidtime.cells import (
    VARIANTS,
    Cell,
    GRUCell,
    LSTMCell,
    LTCCell,
    MixedMemory,
    RNNCell,
)
from liquidtime.errors import unknown_choice

MakeCell: TypeAlias = Callable[[int], Cell]
"""Maps the number of inputs to a cell."""
Network: TypeAlias = str | MakeCell


def _headed(variant: str) -> Callable[[int, int, int], Cell]:
    return lambda D, H, U: VARIANTS[variant](D, H, backbone_units=U)  # type: ignore[call-arg]


NETWORKS: dict[str, Callable[[int, int, int], Cell]] = {
    "cfc": _headed("cfc"),
    "no_gate": _headed("no_gate"),
    "cf_s": _headed("cf_s"),
    "cf_s_paper": _headed("cf_s_paper"),
    "cfc_mm": lambda D, H, U: MixedMemory(VARIANTS["cfc"](D, H, backbone_units=U)),  # type: ignore[call-arg]
    "ltc": lambda D, H, U: LTCCell(D, H),
    "lstm": lambda D, H, U: LSTMCell(D, H),
    "gru": lambda D, H, U: GRUCell(D, H),
    "rnn": lambda D, H, U: RNNCell(D, H),
}
"""Functions of D inputs, H hidden units and U backbone units (read by the CfC family only) to a cell."""


def cell_maker(network: Network, hidden_size: int, backbone_units: int) -> MakeCell:
    """Return what makes the cell of a layer from the number of its inputs.

    Args:
        network: one of `NETWORKS`, or a function from the number of inputs to a `Cell`, which then sets its own sizes.
        hidden_size: H.
        backbone_units: U.

    Raises:
        ValueError: a name that is not in the table.
        TypeError: neither a name nor a function.

    """
    if isinstance(network, str):
        if network not in NETWORKS:
            raise unknown_choice("network", network, [*NETWORKS, *BASELINES])
        make = NETWORKS[network]
        return lambda width: make(width, hidden_size, backbone_units)
    if not callable(network):
        raise TypeError(f"`network` must be a name or a function from the number of inputs to a Cell; got {network!r}")

    def made(width: int) -> Cell:
        cell = network(width)
        if not isinstance(cell, Cell):
            raise TypeError(f"`network` must return a Cell; got {type(cell).__name__}")
        return cell

    return made
