"""One time step of each network, one file a cell."""

from liquidtime.cells.cell import Cell
from liquidtime.cells.cf_s import CfSCell
from liquidtime.cells.cf_s_paper import CfSPaperCell
from liquidtime.cells.cfc import CfCCell
from liquidtime.cells.cfc_no_gate import CfCNoGateCell
from liquidtime.cells.exp_rnn import ExpRNNCell
from liquidtime.cells.gru import GRUCell
from liquidtime.cells.headed import HeadedCell
from liquidtime.cells.hippo_lagt import HiPPOLagTCell
from liquidtime.cells.hippo_legs import HiPPOLegSCell
from liquidtime.cells.lmu import LMUCell
from liquidtime.cells.lstm import LSTMCell
from liquidtime.cells.ltc import LTCCell
from liquidtime.cells.mixed_memory import MixedMemory
from liquidtime.cells.relu_gru import ReLUGRUCell
from liquidtime.cells.rnn import RNNCell
from liquidtime.cells.skip_lstm import SkipLSTMCell
from liquidtime.cells.wired_cfc import WiredCfCCell

VARIANTS: dict[str, type[HeadedCell]] = {
    "cfc": CfCCell,
    "no_gate": CfCNoGateCell,
    "cf_s": CfSCell,
    "cf_s_paper": CfSPaperCell,
}

__all__ = [
    "VARIANTS",
    "Cell",
    "CfCCell",
    "CfCNoGateCell",
    "CfSCell",
    "CfSPaperCell",
    "ExpRNNCell",
    "GRUCell",
    "HeadedCell",
    "HiPPOLagTCell",
    "HiPPOLegSCell",
    "LMUCell",
    "LSTMCell",
    "LTCCell",
    "MixedMemory",
    "RNNCell",
    "ReLUGRUCell",
    "SkipLSTMCell",
    "WiredCfCCell",
]
