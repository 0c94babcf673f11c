"""The error of every solver falls with the step as its documented order says, on equations with known solutions."""

import numpy as np
import pytest
import torch

from liquidtime.solvers import SOLVERS, Heun
from oracles.odes import PROBLEMS
from oracles.slopes import order

END = 1.0
STEPS = {1: (64, 128, 256, 512), 2: (16, 32, 64, 128), 4: (16, 32, 64, 128)}


def test_the_documented_orders():
    assert {name: solver.order for name, solver in SOLVERS.items()} == {
        "semi_implicit": 1,
        "euler": 1,
        "rk4": 4,
        "hold": 1,
        "midpoint": 2,
    }


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("solver", [*SOLVERS.values(), Heun()], ids=lambda solver: solver.name)
def test_error_falls_with_the_order(solver, problem):
    x0, end = (torch.full((1, 1), value, dtype=torch.float64) for value in (problem.x0, END))
    exact = problem.solution(END, problem.x0)
    unfolds = STEPS[solver.order]
    ends = [solver.integrate(lambda x: (problem.rate(x), problem.push(x)), x0, end, n) for n in unfolds]
    errors = [abs(float(x) - exact) for x in ends]
    assert order(END / np.array(unfolds), errors) == pytest.approx(solver.order, abs=0.15)
