"""Networks over sequences: any cell, stacked, in one or both directions, with time."""

from liquidtime.layers.cfc import CfC
from liquidtime.layers.ltc import LTC
from liquidtime.layers.recurrent import Recurrent

__all__ = ["LTC", "CfC", "Recurrent"]
