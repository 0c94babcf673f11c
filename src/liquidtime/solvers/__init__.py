"""Steps of ordinary differential equations, one file a method."""

from liquidtime.solvers.euler import Euler
from liquidtime.solvers.hold import Hold
from liquidtime.solvers.midpoint import Midpoint
from liquidtime.solvers.rk4 import RK4
from liquidtime.solvers.semi_implicit import SemiImplicit
from liquidtime.solvers.solver import Solver

SOLVERS: dict[str, Solver] = {solver.name: solver for solver in (SemiImplicit(), Euler(), RK4(), Hold(), Midpoint())}

__all__ = ["RK4", "SOLVERS", "Euler", "Hold", "Midpoint", "SemiImplicit", "Solver"]
