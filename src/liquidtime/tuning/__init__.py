"""Hyper-parameter search by Optuna: trials inside the training part, one test of the best."""

from liquidtime.tuning.run import search
from liquidtime.tuning.space import Choices, Range

__all__ = ["Choices", "Range", "search"]
