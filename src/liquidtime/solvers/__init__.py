"""Steps of ordinary differential equations, one file per method."""

from liquidtime._checks import check_choice
from liquidtime.solvers.dopri5 import Dopri5
from liquidtime.solvers.euler import Euler
from liquidtime.solvers.flow import Flow
from liquidtime.solvers.heun import Heun
from liquidtime.solvers.hold import Hold
from liquidtime.solvers.hyper import HyperSolver, learned_correction
from liquidtime.solvers.midpoint import Midpoint
from liquidtime.solvers.rk4 import RK4
from liquidtime.solvers.semi_implicit import SemiImplicit
from liquidtime.solvers.solver import Solver

SOLVERS: dict[str, Solver] = {solver.name: solver for solver in (SemiImplicit(), Euler(), RK4(), Hold(), Midpoint())}
"""Those of a liquid cell, by name."""
EXPLICIT: dict[str, Solver] = {solver.name: solver for solver in (Euler(), Heun(), RK4(), Dopri5())}
"""Those that need no rate, for any right-hand side."""
ALL_SOLVERS: dict[str, Solver] = SOLVERS | EXPLICIT
"""Every solver by name."""


def solver_of(given: str | Solver, among: dict[str, Solver]) -> Solver:
    """Return a solver given by its name or as itself.

    Args:
        given: one of the names of `among`, or a `Solver` of such a kind.
        among: the solvers that suit the equation.

    """
    if isinstance(given, Solver):
        check_choice("solver", given.name, among)
        return given
    check_choice("solver", given, among)
    return among[given]


__all__ = [
    "ALL_SOLVERS",
    "EXPLICIT",
    "RK4",
    "SOLVERS",
    "Dopri5",
    "Euler",
    "Flow",
    "Heun",
    "Hold",
    "HyperSolver",
    "Midpoint",
    "SemiImplicit",
    "Solver",
    "learned_correction",
    "solver_of",
]
