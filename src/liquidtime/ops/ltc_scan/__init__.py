"""The steps of liquid time-constant neurons over whole sequences. README.md has the equations."""

from liquidtime.ops.ltc_scan.backend import BACKENDS, Backend
from liquidtime.ops.ltc_scan.cpu import CpuBackend
from liquidtime.ops.ltc_scan.graph import SOLVERS, Graph, graph_of
from liquidtime.ops.ltc_scan.operator import ltc_scan

__all__ = ["BACKENDS", "SOLVERS", "Backend", "Graph", "graph_of", "ltc_scan"]

BACKENDS.register(CpuBackend())
