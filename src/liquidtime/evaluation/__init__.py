"""Evaluate models: split, compare, compute figures, explain and report; `train_and_test` does all of it."""

from liquidtime.evaluation import insight
from liquidtime.evaluation.comparison import compare
from liquidtime.evaluation.hold_out import hold_out
from liquidtime.evaluation.insight import explain
from liquidtime.evaluation.job_record import JobRecord
from liquidtime.evaluation.report_data import report_data
from liquidtime.evaluation.result import Result
from liquidtime.evaluation.train_and_test import train_and_test
from liquidtime.tasks import Comparison

__all__ = [
    "Comparison",
    "JobRecord",
    "Result",
    "compare",
    "explain",
    "hold_out",
    "insight",
    "report_data",
    "train_and_test",
]
