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
"""Solvers of a liquid cell, by name."""
EXPLICIT: dict[str, Solver] = {solver.name: solver for solver in (Euler(), Heun(), RK4(), Dopri5())}
"""Solvers that need no rate, for any right-hand side."""
ALL_SOLVERS: dict[str, Solver] = SOLVERS | EXPLICIT
"""Every solver by name."""


def solver_of(solver: str | Solver, among: dict[str, Solver]) -> Solver:
    """Return a solver, which may be passed by name.

    Args:
        solver: one of the names in `among`, or a `Solver` with such a name.
        among: the solvers that are suitable for the equation.

    """
    if isinstance(solver, Solver):
        check_choice("solver", solver.name, among)
        return solver
    check_choice("solver", solver, among)
    return among[solver]


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
