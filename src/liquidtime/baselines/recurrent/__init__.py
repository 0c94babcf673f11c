"""Comparison models that run step by step, one file per cell."""

from liquidtime.baselines.recurrent.augmented_lstm import AugmentedLSTMCell
from liquidtime.baselines.recurrent.bidirectional_rnn import BidirectionalRNNCell
from liquidtime.baselines.recurrent.cornn import CoRNNCell
from liquidtime.baselines.recurrent.ct_gru import CTGRUCell
from liquidtime.baselines.recurrent.ct_lstm import CTLSTMCell
from liquidtime.baselines.recurrent.ct_rnn import CTRNNCell
from liquidtime.baselines.recurrent.decay_gru import DecayGRUCell
from liquidtime.baselines.recurrent.exp_rnn import ExpRNNCell
from liquidtime.baselines.recurrent.gru_d import GRUDCell
from liquidtime.baselines.recurrent.gru_ode import GRUODECell
from liquidtime.baselines.recurrent.hippo_lagt import HiPPOLagTCell
from liquidtime.baselines.recurrent.hippo_legs import HiPPOLegSCell
from liquidtime.baselines.recurrent.impute_gru import ImputeGRUCell
from liquidtime.baselines.recurrent.lipschitz_rnn import LipschitzRNNCell
from liquidtime.baselines.recurrent.lmu import LMUCell
from liquidtime.baselines.recurrent.ode_lstm import ODELSTMCell
from liquidtime.baselines.recurrent.ode_rnn import ODERNNCell
from liquidtime.baselines.recurrent.phased_lstm import PhasedLSTMCell
from liquidtime.baselines.recurrent.relu_gru import ReLUGRUCell
from liquidtime.baselines.recurrent.skip_lstm import SkipLSTMCell
from liquidtime.baselines.recurrent.time_gru import TimeGRUCell

__all__ = [
    "AugmentedLSTMCell",
    "BidirectionalRNNCell",
    "CTGRUCell",
    "CTLSTMCell",
    "CTRNNCell",
    "CoRNNCell",
    "DecayGRUCell",
    "ExpRNNCell",
    "GRUDCell",
    "GRUODECell",
    "HiPPOLagTCell",
    "HiPPOLegSCell",
    "ImputeGRUCell",
    "LMUCell",
    "LipschitzRNNCell",
    "ODELSTMCell",
    "ODERNNCell",
    "PhasedLSTMCell",
    "ReLUGRUCell",
    "SkipLSTMCell",
    "TimeGRUCell",
]
