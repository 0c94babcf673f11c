"""Run the declared experiments and store their results."""

from liquidtime.paper.runner.results import Key, read_results, write_result, write_text
from liquidtime.paper.runner.runner import progress_of, run, tune

__all__ = ["Key", "progress_of", "read_results", "run", "tune", "write_result", "write_text"]
