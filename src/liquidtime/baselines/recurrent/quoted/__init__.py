"""Comparison cells as in the code of the ODE-LSTM work (mlech26l/ode-lstms), from which the paper quotes figures.

Each differs from the model of the same name in its own paper; `docs/deviations.md` says how. They are included so that
a quoted figure can be compared with the network to which it belongs.
"""

from liquidtime.baselines.recurrent.quoted.bidirectional_rnn import QuotedBidirectionalRNNCell
from liquidtime.baselines.recurrent.quoted.ct_gru import QuotedCTGRUCell
from liquidtime.baselines.recurrent.quoted.ct_lstm import QuotedCTLSTMCell
from liquidtime.baselines.recurrent.quoted.ct_rnn import QuotedCTRNNCell
from liquidtime.baselines.recurrent.quoted.gru_ode import QuotedGRUODECell
from liquidtime.baselines.recurrent.quoted.ode_lstm import QuotedODELSTMCell
from liquidtime.baselines.recurrent.quoted.phased_lstm import QuotedPhasedLSTMCell
from liquidtime.baselines.recurrent.quoted.rnn_decay import QuotedRNNDecayCell

__all__ = [
    "QuotedBidirectionalRNNCell",
    "QuotedCTGRUCell",
    "QuotedCTLSTMCell",
    "QuotedCTRNNCell",
    "QuotedGRUODECell",
    "QuotedODELSTMCell",
    "QuotedPhasedLSTMCell",
    "QuotedRNNDecayCell",
]
