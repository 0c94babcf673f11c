"""One time step of each of the library's own networks; comparison models are in `liquidtime.baselines`."""

import importlib
from typing import Any

from liquidtime.cells.cell import Cell
from liquidtime.cells.cf_s import CfSCell
from liquidtime.cells.cf_s_paper import CfSPaperCell
from liquidtime.cells.cfc import CfCCell
from liquidtime.cells.cfc_no_gate import CfCNoGateCell
from liquidtime.cells.gru import GRUCell
from liquidtime.cells.headed import HeadedCell
from liquidtime.cells.hoisted import HoistedCell
from liquidtime.cells.liquid import LiquidCell
from liquidtime.cells.lstm import LSTMCell
from liquidtime.cells.ltc import LTCCell
from liquidtime.cells.mixed_memory import MixedMemory
from liquidtime.cells.rnn import RNNCell
from liquidtime.cells.wired_cfc import WiredCfCCell

VARIANTS: dict[str, type[HeadedCell]] = {
    "cfc": CfCCell,
    "no_gate": CfCNoGateCell,
    "cf_s": CfSCell,
    "cf_s_paper": CfSPaperCell,
}
"""The variants of a CfC, by name."""

__all__ = [
    "VARIANTS",
    "Cell",
    "CfCCell",
    "CfCNoGateCell",
    "CfSCell",
    "CfSPaperCell",
    "GRUCell",
    "HeadedCell",
    "HoistedCell",
    "LSTMCell",
    "LTCCell",
    "LiquidCell",
    "MixedMemory",
    "RNNCell",
    "WiredCfCCell",
]


def __getattr__(name: str) -> Any:
    """Return a comparison cell by its former name here; these cells are now in `liquidtime.baselines.recurrent`."""
    home = importlib.import_module("liquidtime.baselines.recurrent")
    if name in home.__all__:
        return getattr(home, name)
    raise AttributeError(f"module 'liquidtime.cells' has no attribute {name!r}")
