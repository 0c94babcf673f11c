"""The networks that an estimator takes by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from liquidtime.baselines import BASELINES
from liquidtime.baselines.recurrent import (
    AugmentedLSTMCell,
    BidirectionalRNNCell,
    CoRNNCell,
    CTGRUCell,
    CTLSTMCell,
    CTRNNCell,
    DecayGRUCell,
    ExpRNNCell,
    GRUDCell,
    GRUODECell,
    HiPPOLagTCell,
    HiPPOLegSCell,
    ImputeGRUCell,
    LipschitzRNNCell,
    LMUCell,
    ODELSTMCell,
    ODERNNCell,
    PhasedLSTMCell,
    ReLUGRUCell,
    SkipLSTMCell,
    TimeGRUCell,
)
from liquidtime.cells import VARIANTS, Cell, GRUCell, LSTMCell, LTCCell, MixedMemory, RNNCell
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
    "augmented_lstm": lambda D, H, U: AugmentedLSTMCell(D, H),
    "bidirectional_rnn": lambda D, H, U: BidirectionalRNNCell(D, H),
    "cornn": lambda D, H, U: CoRNNCell(D, H),
    "ct_gru": lambda D, H, U: CTGRUCell(D, H),
    "ct_lstm": lambda D, H, U: CTLSTMCell(D, H),
    "ct_rnn": lambda D, H, U: CTRNNCell(D, H),
    "gru_d": lambda D, H, U: GRUDCell(D, H),
    "gru_ode": lambda D, H, U: GRUODECell(D, H),
    "lipschitz_rnn": lambda D, H, U: LipschitzRNNCell(D, H),
    "ode_lstm": lambda D, H, U: ODELSTMCell(D, H),
    "ode_rnn": lambda D, H, U: ODERNNCell(D, H),
    "phased_lstm": lambda D, H, U: PhasedLSTMCell(D, H),
    "rnn_decay": lambda D, H, U: DecayGRUCell(D, H),
    "rnn_delta_t": lambda D, H, U: TimeGRUCell(D, H),
    "rnn_impute": lambda D, H, U: GRUCell(D, H),
    "hippo_lagt": lambda D, H, U: HiPPOLagTCell(D, H),
    "hippo_legs": lambda D, H, U: HiPPOLegSCell(D, H),
    "lmu": lambda D, H, U: LMUCell(D, H),
    "relu_gru": lambda D, H, U: ReLUGRUCell(D, H),
    "skip_lstm": lambda D, H, U: SkipLSTMCell(D, H),
    "exp_rnn": lambda D, H, U: ExpRNNCell(D, H),
}
"""Functions of D inputs, H hidden units and U backbone units (read by the CfC family only) to a cell."""
WITH_BACKBONE = (*VARIANTS, "cfc_mm")
"""The networks that read U."""

MASKED: dict[str, Callable[[int, int, Sequence[int]], Cell]] = {
    "gru_d": lambda D, H, masks: GRUDCell(D, H, masks),
    "rnn_impute": lambda D, H, masks: ImputeGRUCell(D, H, masks),
}
"""Those that read which values were observed, in place of the above where the inputs tell it."""


def cell_maker(network: Network, hidden_size: int, backbone_units: int, masks: Sequence[int] | None = None) -> MakeCell:
    """Return what makes the cell of a layer from the number of its inputs.

    Args:
        network: one of `NETWORKS`, or a function from the number of inputs to a `Cell`, which then sets its own sizes.
        hidden_size: H.
        backbone_units: U.
        masks: (K,) for each of the first K inputs the input that says whether it was observed; None if none does. They
            are the first layer's: later cells that are made read outputs, all observed.

    Raises:
        ValueError: a name that is not in the table.
        TypeError: neither a name nor a function.

    """
    if isinstance(network, str):
        if network not in NETWORKS:
            raise unknown_choice("network", network, [*NETWORKS, *BASELINES])
        make = NETWORKS[network]
        if network not in MASKED or not masks:
            return lambda width: make(width, hidden_size, backbone_units)
        masked, first = MASKED[network], iter([masks])

        def layer(width: int) -> Cell:
            own = next(first, None)
            return make(width, hidden_size, backbone_units) if own is None else masked(width, hidden_size, own)

        return layer
    if not callable(network):
        raise TypeError(f"`network` must be a name or a function from the number of inputs to a Cell; got {network!r}")

    def made(width: int) -> Cell:
        cell = network(width)
        if not isinstance(cell, Cell):
            raise TypeError(f"`network` must return a Cell; got {type(cell).__name__}")
        return cell

    return made
