"""A hypersolver's local error is that of its base times the error of what it has learned; its order is the base's."""

import pytest
import torch

from liquidtime.solvers import RK4, Euler, Flow, Heun, HyperSolver, learned_correction


def slope(x):
    """A spiral that bends: no method of low order solves it exactly."""
    a, b = x.unbind(-1)
    return torch.stack([-0.4 * a + 2.0 * b - a**3 / 3, -2.0 * a - 0.4 * b], dim=-1)


FLOW = Flow(slope, tuple)


@pytest.fixture(scope="module")
def states():
    return torch.randn(400, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("base", [Euler(), Heun()], ids=["euler", "heun"])
def test_the_error_falls_by_what_was_learned(states, base):
    solver, delta = learned_correction(slope, base, states, 0.1, iterations=400)
    assert delta < 0.15
    fresh = torch.randn(200, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64).clamp(-2, 2)
    h = torch.full((200, 1), 0.1, dtype=torch.float64)
    exact = RK4().integrate(FLOW, fresh, h, 32)
    plain = (base.step(FLOW, fresh, h) - exact).norm()
    assert (solver.step(FLOW, fresh, h) - exact).norm() < 0.35 * plain
    dt = torch.full((200, 1), 2.0, dtype=torch.float64)
    end = RK4().integrate(FLOW, fresh, dt, 400)
    assert (solver.integrate(FLOW, fresh, dt, 20) - end).norm() < 0.5 * (
        base.integrate(FLOW, fresh, dt, 20) - end
    ).norm()


def test_a_correction_of_nothing_is_the_base(states):
    class Nothing(torch.nn.Module):
        def forward(self, seen):
            return torch.zeros_like(seen[:, :2])

    h = torch.full((400, 1), 0.3, dtype=torch.float64)
    solver = HyperSolver(Euler(), Nothing())
    assert torch.equal(solver.step(FLOW, states, h), Euler().step(FLOW, states, h))
    assert solver.order == 1
    assert solver != HyperSolver(Euler(), Nothing())


def test_a_step_of_0_stays(states):
    solver, _ = learned_correction(slope, Euler(), states, 0.1, iterations=2)
    assert torch.equal(solver.step(FLOW, states, torch.zeros(400, 1).double()), states)


def test_the_same_seed_learns_the_same(states):
    first, second = (learned_correction(slope, Euler(), states[:20], 0.1, iterations=5)[1] for _ in range(2))
    assert first == second
