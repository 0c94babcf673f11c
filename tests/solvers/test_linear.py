"""The linear equation dx/dt = push - rate·x, in which everything about a step is known."""

import numpy as np
import pytest
import torch

from liquidtime.solvers import RK4, SOLVERS, Euler, Hold, Midpoint, SemiImplicit
from oracles.odes import relaxation

B, H = 5, 3
EVERY = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
STABLE = pytest.mark.parametrize("solver", [SemiImplicit(), Hold(), Midpoint()], ids=repr)


def linear(seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(B, H, generator=generator, dtype=torch.float64)
    push = torch.randn(B, H, generator=generator, dtype=torch.float64)
    rate = 0.1 + 5 * torch.rand(B, H, generator=generator, dtype=torch.float64)
    return x, rate, push


@pytest.mark.parametrize("solver", [Hold(), Midpoint()], ids=repr)
@pytest.mark.parametrize("h", [1e-9, 1e-3, 0.1, 1.0, 30.0, 1e4])
def test_held_solution_is_exact_for_any_step(solver, h):
    x, rate, push = linear()
    stepped = solver.step(lambda _: (rate, push), x, torch.full((B, 1), h, dtype=torch.float64))
    np.testing.assert_allclose(stepped, relaxation(x.numpy(), rate.numpy(), push.numpy(), h), rtol=1e-13, atol=1e-14)


@STABLE
def test_large_steps_stay_between_the_state_and_rest(solver):
    x, rate, push = linear()
    rest = push / rate
    for h in (0.5, 10.0, 1e6):
        stepped = solver.integrate(lambda _: (rate, push), x, torch.full((B, 1), h), 7)
        low, high = torch.minimum(x, rest), torch.maximum(x, rest)
        assert bool(((stepped >= low - 1e-12) & (stepped <= high + 1e-12)).all())


@pytest.mark.parametrize(("solver", "limit"), [(Euler(), 2.0), (RK4(), 2.785)], ids=["euler", "rk4"])
def test_explicit_steps_are_stable_up_to_their_documented_limit(solver, limit):
    x, rate, push = torch.ones(1, 1), torch.ones(1, 1), torch.zeros(1, 1)

    def after(h):
        return abs(float(solver.integrate(lambda _: (rate, push), x, torch.full((1, 1), 1000 * h), 1000)))

    assert after(limit - 0.01) < 0.01
    assert after(limit + 0.01) > 100


@EVERY
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_step_of_zero_returns_the_state_bit_by_bit(solver, dtype):
    x, rate, push = (part.to(dtype) for part in linear())
    assert torch.equal(solver.integrate(lambda _: (rate, push), x, torch.zeros(B, 1, dtype=dtype), 6), x)


@EVERY
def test_every_row_has_its_own_step(solver):
    x, rate, push = linear()
    h = torch.tensor([0.0, 0.01, 0.1, 0.2, 0.3]).unsqueeze(1)
    together = solver.integrate(lambda v: (rate + v * v, push), x, h, 3)
    for row in range(B):
        part = slice(row, row + 1)

        def drive(v, part=part):
            return rate[part] + v * v, push[part]

        assert torch.equal(solver.integrate(drive, x[part], h[part], 3), together[part])


@EVERY
def test_unfolds_are_steps_of_equal_length(solver):
    x, rate, push = linear()

    def drive(v):
        return rate + v * v, push

    h = torch.full((B, 1), 0.3, dtype=torch.float64)
    by_hand = solver.step(drive, solver.step(drive, solver.step(drive, x, h / 3), h / 3), h / 3)
    assert torch.equal(solver.integrate(drive, x, h, 3), by_hand)
    assert not torch.equal(solver.integrate(drive, x, h, 1), by_hand)


@EVERY
def test_gradients_in_state_rates_and_time(solver):
    x, rate, push = (part.requires_grad_() for part in linear())
    h = torch.linspace(0.1, 0.4, B, dtype=torch.float64).unsqueeze(1).requires_grad_()

    def run(x, rate, push, h):
        return solver.integrate(lambda v: (rate + v * v, push), x, h, 2)

    assert torch.autograd.gradcheck(run, (x, rate, push, h))


@EVERY
def test_solvers_are_equal_by_kind(solver):
    assert solver == type(solver)()
    assert hash(solver) == hash(type(solver)())
    assert sum(solver == other for other in SOLVERS.values()) == 1
