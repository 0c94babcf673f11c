"""Measures networks in turns, in one run: times, memory, and how cost grows with size."""

from benchmarks.side_by_side.case import Case, Questions, Target
from benchmarks.side_by_side.claims import Claim, Growth, claims, conclusions, growths
from benchmarks.side_by_side.command import ask
from benchmarks.side_by_side.report import Report
from benchmarks.side_by_side.run import bench
from benchmarks.side_by_side.shape import Shape

__all__ = [
    "Case",
    "Claim",
    "Growth",
    "Questions",
    "Report",
    "Shape",
    "Target",
    "ask",
    "bench",
    "claims",
    "conclusions",
    "growths",
]
