"""The theory of the closed form, its error bound, and the compiler of liquid networks into it."""

from liquidtime.closed_form.algorithm_one import AlgorithmOne, algorithm_one
from liquidtime.closed_form.compile import compile_ltc
from liquidtime.closed_form.error_report import ErrorReport
from liquidtime.theory.approximate import approximate
from liquidtime.theory.bound import bound, sharpness
from liquidtime.theory.exact import exact
from liquidtime.theory.piecewise import PiecewiseConstant

__all__ = [
    "AlgorithmOne",
    "ErrorReport",
    "PiecewiseConstant",
    "algorithm_one",
    "approximate",
    "bound",
    "compile_ltc",
    "exact",
    "sharpness",
]
