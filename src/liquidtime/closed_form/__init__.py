"""The theory of the closed form, and the compiler of liquid networks into it."""

from liquidtime.closed_form.algorithm_one import AlgorithmOne, algorithm_one
from liquidtime.closed_form.compile import compile_ltc
from liquidtime.closed_form.error_report import ErrorReport

__all__ = ["AlgorithmOne", "ErrorReport", "algorithm_one", "compile_ltc"]
