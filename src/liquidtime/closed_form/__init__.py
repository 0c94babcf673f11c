"""The theory of the scalar LTC equation: exact solution, the lemma's closed form, its error bound."""

from liquidtime.closed_form.approximate import approximate
from liquidtime.closed_form.bound import bound, sharpness
from liquidtime.closed_form.exact import exact
from liquidtime.closed_form.piecewise import PiecewiseConstant

__all__ = ["PiecewiseConstant", "approximate", "bound", "exact", "sharpness"]
