"""Hyper-parameter search with Optuna: trials inside the training part, and one test of the best settings."""

from liquidtime.tuning.run import search
from liquidtime.tuning.space import Choices, Range

__all__ = ["Choices", "Range", "search"]
