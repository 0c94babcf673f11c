"""The networks of `ncps.torch`: its signatures with the cells of this library."""

from liquidtime.compat.ncps.torch.cfc import CfC
from liquidtime.compat.ncps.torch.cfc_cell import CfCCell
from liquidtime.compat.ncps.torch.ltc import LTC
from liquidtime.compat.ncps.torch.ltc_cell import LTCCell
from liquidtime.compat.ncps.torch.wired_cfc_cell import WiredCfCCell

__all__ = ["LTC", "CfC", "CfCCell", "LTCCell", "WiredCfCCell"]
