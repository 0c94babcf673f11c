"""One time step of each network, one file a cell."""

from liquidtime.cells.augmented_lstm import AugmentedLSTMCell
from liquidtime.cells.bidirectional_rnn import BidirectionalRNNCell
from liquidtime.cells.cell import Cell
from liquidtime.cells.cf_s import CfSCell
from liquidtime.cells.cf_s_paper import CfSPaperCell
from liquidtime.cells.cfc import CfCCell
from liquidtime.cells.cfc_no_gate import CfCNoGateCell
from liquidtime.cells.cornn import CoRNNCell
from liquidtime.cells.ct_gru import CTGRUCell
from liquidtime.cells.ct_lstm import CTLSTMCell
from liquidtime.cells.ct_rnn import CTRNNCell
from liquidtime.cells.decay_gru import DecayGRUCell
from liquidtime.cells.exp_rnn import ExpRNNCell
from liquidtime.cells.gru import GRUCell
from liquidtime.cells.gru_d import GRUDCell
from liquidtime.cells.gru_ode import GRUODECell
from liquidtime.cells.headed import HeadedCell
from liquidtime.cells.hippo_lagt import HiPPOLagTCell
from liquidtime.cells.hippo_legs import HiPPOLegSCell
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.cells.impute_gru import ImputeGRUCell
from liquidtime.cells.lipschitz_rnn import LipschitzRNNCell
from liquidtime.cells.lmu import LMUCell
from liquidtime.cells.lstm import LSTMCell
from liquidtime.cells.ltc import LTCCell
from liquidtime.cells.mixed_memory import MixedMemory
from liquidtime.cells.ode_lstm import ODELSTMCell
from liquidtime.cells.ode_rnn import ODERNNCell
from liquidtime.cells.phased_lstm import PhasedLSTMCell
from liquidtime.cells.relu_gru import ReLUGRUCell
from liquidtime.cells.rnn import RNNCell
from liquidtime.cells.skip_lstm import SkipLSTMCell
from liquidtime.cells.time_gru import TimeGRUCell
from liquidtime.cells.wired_cfc import WiredCfCCell

VARIANTS: dict[str, type[HeadedCell]] = {
    "cfc": CfCCell,
    "no_gate": CfCNoGateCell,
    "cf_s": CfSCell,
    "cf_s_paper": CfSPaperCell,
}

__all__ = [
    "VARIANTS",
    "AugmentedLSTMCell",
    "BidirectionalRNNCell",
    "CTGRUCell",
    "CTLSTMCell",
    "CTRNNCell",
    "Cell",
    "CfCCell",
    "CfCNoGateCell",
    "CfSCell",
    "CfSPaperCell",
    "CoRNNCell",
    "DecayGRUCell",
    "ExpRNNCell",
    "GRUCell",
    "GRUDCell",
    "GRUODECell",
    "HeadedCell",
    "HiPPOLagTCell",
    "HiPPOLegSCell",
    "HoistedCell",
    "ImputeGRUCell",
    "LMUCell",
    "LSTMCell",
    "LTCCell",
    "LipschitzRNNCell",
    "MixedMemory",
    "ODELSTMCell",
    "ODERNNCell",
    "PhasedLSTMCell",
    "RNNCell",
    "ReLUGRUCell",
    "SkipLSTMCell",
    "TimeGRUCell",
    "WiredCfCCell",
]
