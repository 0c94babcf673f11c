"""The table of networks, which every part of the package uses that accepts a network by name."""

from __future__ import annotations

from functools import partial
from typing import Any

from liquidtime.baselines import recurrent as comparison
from liquidtime.baselines import series
from liquidtime.baselines.recurrent import quoted
from liquidtime.cells import VARIANTS, CfCCell, GRUCell, LiquidCell, LSTMCell, LTCCell, MixedMemory, RNNCell
from liquidtime.errors import unknown_choice
from liquidtime.networks.entry import Entry, recurrent, whole_series


def _cfc_mm(input_size: int, hidden_size: int, **options: Any) -> MixedMemory:
    return MixedMemory(CfCCell(input_size, hidden_size, **options))


NETWORKS: dict[str, Entry] = {
    **{name: recurrent(kind, backbone=True) for name, kind in VARIANTS.items()},
    "cfc_mm": recurrent(_cfc_mm, backbone=True),
    "ltc": recurrent(LTCCell),
    "liquid": recurrent(LiquidCell),
    "lstm": recurrent(LSTMCell),
    "gru": recurrent(GRUCell),
    "rnn": recurrent(RNNCell),
    "augmented_lstm": recurrent(comparison.AugmentedLSTMCell),
    "bidirectional_rnn": recurrent(comparison.BidirectionalRNNCell),
    "cornn": recurrent(comparison.CoRNNCell),
    "ct_gru": recurrent(comparison.CTGRUCell),
    "ct_lstm": recurrent(comparison.CTLSTMCell),
    "ct_rnn": recurrent(comparison.CTRNNCell),
    "gru_d": recurrent(comparison.GRUDCell, masks="optional"),
    "gru_ode": recurrent(comparison.GRUODECell),
    "lipschitz_rnn": recurrent(comparison.LipschitzRNNCell),
    "ode_lstm": recurrent(comparison.ODELSTMCell),
    "ode_rnn": recurrent(comparison.ODERNNCell),
    "phased_lstm": recurrent(comparison.PhasedLSTMCell),
    "rnn_decay": recurrent(comparison.DecayGRUCell),
    "rnn_delta_t": recurrent(comparison.TimeGRUCell),
    "rnn_impute": recurrent(comparison.ImputeGRUCell, masks="required"),
    "hippo_lagt": recurrent(comparison.HiPPOLagTCell),
    "hippo_legs": recurrent(comparison.HiPPOLegSCell),
    "lmu": recurrent(comparison.LMUCell),
    "relu_gru": recurrent(comparison.ReLUGRUCell),
    "skip_lstm": recurrent(comparison.SkipLSTMCell),
    "exp_rnn": recurrent(comparison.ExpRNNCell),
    "bidirectional_rnn_quoted": recurrent(quoted.QuotedBidirectionalRNNCell),
    "ct_gru_quoted": recurrent(quoted.QuotedCTGRUCell),
    "ct_lstm_quoted": recurrent(quoted.QuotedCTLSTMCell),
    "ct_rnn_quoted": recurrent(quoted.QuotedCTRNNCell),
    "gru_ode_quoted": recurrent(quoted.QuotedGRUODECell),
    "ode_lstm_quoted": recurrent(quoted.QuotedODELSTMCell),
    "phased_lstm_quoted": recurrent(quoted.QuotedPhasedLSTMCell),
    "rnn_decay_quoted": recurrent(quoted.QuotedRNNDecayCell),
    "ip_net": whole_series(series.IPNet),
    "seft": whole_series(series.SeFT),
    "rnn_vae": whole_series(series.RNNVAE),
    "latent_ode_rnn": whole_series(partial(series.LatentODE, encoder="rnn")),
    "latent_ode": whole_series(partial(series.LatentODE, encoder="ode_rnn")),
    "mtand": whole_series(series.MTAND),
    "mtand_full": whole_series(series.MTANDFull),
    "transformer": whole_series(series.Transformer),
    "bidirectional": whole_series(series.BidirectionalRNN),
}
"""Networks by the name for `network=`: first those that run step by step, then those that read whole series."""

ALIASES = {"mm_rnn": "cfc_mm"}
"""Alternative names of networks of the table, from model folders and the paper's tables."""


def canonical(name: str) -> str:
    """Return the name of a network in the table.

    Raises:
        ValueError: there is no network of this name.

    """
    known = ALIASES.get(name, name)
    if known not in NETWORKS:
        raise unknown_choice("network", name, NETWORKS)
    return known


def entry_of(name: str) -> Entry:
    """Return the entry of a network in the table.

    Raises:
        ValueError: there is no network of this name.

    """
    return NETWORKS[canonical(name)]
