"""The compiler of liquid networks into closed form, which also exports the numpy `theory` behind it."""

from liquidtime.closed_form.algorithm_one import AlgorithmOne, algorithm_one
from liquidtime.closed_form.compile import compile_ltc
from liquidtime.closed_form.error_report import ErrorReport
from liquidtime.theory import PiecewiseConstant, approximate, bound, exact, printed, sharpness

__all__ = [
    "AlgorithmOne",
    "ErrorReport",
    "PiecewiseConstant",
    "algorithm_one",
    "approximate",
    "bound",
    "compile_ltc",
    "exact",
    "printed",
    "sharpness",
]
