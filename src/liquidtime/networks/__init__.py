"""The table of networks by name, with constructors and requirements; it is used wherever a name is accepted."""

from liquidtime.networks.entry import Entry, recurrent, whole_series
from liquidtime.networks.layer import Network, check_network, reads_whole_series, recurrent_layer
from liquidtime.networks.table import ALIASES, NETWORKS, canonical, entry_of

__all__ = [
    "ALIASES",
    "NETWORKS",
    "Entry",
    "Network",
    "canonical",
    "check_network",
    "entry_of",
    "reads_whole_series",
    "recurrent",
    "recurrent_layer",
    "whole_series",
]
