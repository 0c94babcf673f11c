"""Runs what the experiments declare, and keeps the result files."""

from liquidtime.paper.runner.results import Key, read_results, write_result, write_text
from liquidtime.paper.runner.runner import progress_of, run, tune

__all__ = ["Key", "progress_of", "read_results", "run", "tune", "write_result", "write_text"]
