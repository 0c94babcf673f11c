"""Side by side with what else is installed: times, memory, and how cost grows with size."""

from liquidtime.bench.claims import Claim, Growth, claims, conclusions, growths
from liquidtime.bench.report import Report
from liquidtime.bench.run import bench

__all__ = ["Claim", "Growth", "Report", "bench", "claims", "conclusions", "growths"]
