"""The theory of the closed form in numpy: the lemma's scalar liquid equation, its closed form and its error bound."""

from liquidtime.theory.approximate import approximate
from liquidtime.theory.bound import bound, sharpness
from liquidtime.theory.exact import exact
from liquidtime.theory.piecewise import PiecewiseConstant
from liquidtime.theory.printed import printed

__all__ = ["PiecewiseConstant", "approximate", "bound", "exact", "printed", "sharpness"]
