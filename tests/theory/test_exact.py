"""`exact` solves the differential equation: a solver, the unsimplified integrals and closed forms agree."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from liquidtime.theory import PiecewiseConstant, exact
from liquidtime.theory.quadrature import cumulative
from oracles.scalar_ltc import double_integral


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def half_tanh(x):
    return 0.5 * (1.0 + np.tanh(2.0 * x + 0.3))


def solve(signal, t, x0, A, w_tau, f, breaks=()):
    """Integrate the equation with a solver, starting again at every break."""
    edges = [0.0, *[b for b in breaks if 0 < b < t[-1]], t[-1]]
    x, solution = x0, np.empty_like(t)
    for lower, upper in pairwise(edges):
        # The value of the open interval also at its ends, where a jump would otherwise show.
        inside = (lower + 1e-12 * (upper - lower), upper - 1e-12 * (upper - lower))

        def slope(s, x, inside=inside):
            rate = w_tau + f(signal(np.clip(s, *inside)))
            return -rate * x + A * rate

        here = (t >= lower) & (t <= upper)
        run = solve_ivp(
            slope,
            (lower, upper),
            [x],
            method="DOP853",
            dense_output=True,
            rtol=1e-11,
            atol=1e-13,
        )
        if here.any():
            solution[here] = run.sol(t[here])[0]
        x = run.y[0, -1]
    return solution


def fourier(seed):
    rng = np.random.default_rng(seed)
    amplitude, pace, phase = rng.normal(0, 2, 6), rng.uniform(0, 6, 6), rng.uniform(0, 6.3, 6)
    return lambda s: np.sin(np.multiply.outer(s, pace) + phase) @ amplitude


def held(seed, pieces=12, until=5.0):
    rng = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.sort(rng.uniform(0, until, pieces - 1))])
    return PiecewiseConstant(times, rng.normal(0, 3, pieces))


SMOOTH = {
    "ramp": lambda s: s - 2.0,
    "wave": lambda s: 3.0 * np.sin(5.0 * s),
    "chirp": lambda s: 4.0 * np.cos(s * s * 2.0),
    "growth": lambda s: np.exp(s) - 8.0,
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("f", [sigmoid, half_tanh])
def test_a_solver_confirms_smooth_signals(name, f):
    t = np.linspace(0.0, 5.0, 41)
    ours = exact(SMOOTH[name], t, -0.7, A=1.3, w_tau=0.4, f=f)
    np.testing.assert_allclose(ours, solve(SMOOTH[name], t, -0.7, 1.3, 0.4, f), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_a_solver_confirms_random_signals(seed):
    rng = np.random.default_rng(1000 + seed)
    t = np.sort(rng.uniform(0, 5, 30))
    x0, A, w_tau = rng.normal(0, 2), rng.normal(0, 2), rng.uniform(0.01, 2)
    signal = fourier(seed)
    ours = exact(signal, t, x0, A=A, w_tau=w_tau)
    np.testing.assert_allclose(ours, solve(signal, t, x0, A, w_tau, sigmoid), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_solver_confirms_piecewise_constant_signals(seed):
    signal, t = held(seed), np.linspace(0, 5, 33)
    ours = exact(signal, t, 2.0, A=-1.0, w_tau=0.2)
    np.testing.assert_allclose(ours, solve(signal, t, 2.0, -1.0, 0.2, sigmoid, signal.times[1:]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_quadrature_equals_the_closed_form(seed):
    signal, t = held(seed), np.linspace(0, 6, 25)
    settings = {"A": -1.0, "w_tau": 0.2}
    closed = exact(signal, t, 2.0, **settings)
    told = exact(lambda s: signal(s), t, 2.0, breaks=signal.times, **settings)
    np.testing.assert_allclose(told, closed, rtol=0, atol=1e-14)
    untold = exact(lambda s: signal(s), t, 2.0, **settings)
    np.testing.assert_allclose(untold, closed, rtol=0, atol=1e-11)


def test_a_constant_signal_decays_exponentially():
    t = np.array([0.0, 0.5, 3.0])
    expected = (2.0 - 0.5) * np.exp(-(0.3 + sigmoid(0.8)) * t) + 0.5
    np.testing.assert_allclose(exact(PiecewiseConstant([0], [0.8]), t, 2.0, A=0.5, w_tau=0.3), expected, atol=1e-15)
    np.testing.assert_allclose(exact(lambda s: 0.8, t, 2.0, A=0.5, w_tau=0.3), expected, atol=1e-15)


def test_the_sigmoid_of_a_ramp_has_a_known_integral():
    t = np.array([0.1, 1.0, 10.0, 100.0, 1000.0])
    integral = np.logaddexp(0.0, t - 5.0) - np.logaddexp(0.0, -5.0)
    expected = np.exp(-1e-3 * t - integral)
    np.testing.assert_allclose(exact(lambda s: s - 5.0, t, 1.0, A=0.0, w_tau=1e-3), expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["ramp", "wave", "growth"])
def test_the_unsimplified_integrals_agree(name):
    errors = []
    for steps in (1000, 2000):
        theirs = double_integral(SMOOTH[name], 2.5, -0.7, 1.3, 0.4, sigmoid, steps)
        errors.append(abs(theirs - exact(SMOOTH[name], 2.5, -0.7, A=1.3, w_tau=0.4)))
    assert errors[0] < 1e-5
    assert errors[1] < 0.3 * errors[0]  # second order: what is left is the oracle's own error


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_the_tolerance_is_kept(tolerance):
    def g(s):
        return np.abs(np.sin(7.3 * s))

    def integral(t):
        whole, rest = np.divmod(7.3 * t, np.pi)
        return (2 * whole + 1 - np.cos(rest)) / 7.3

    t = np.linspace(0.3, 9.0, 17)
    assert (np.abs(cumulative(g, t, np.array([]), tolerance) - integral(t)) <= tolerance * t).all()


@pytest.mark.parametrize("seed", range(5))
def test_breaks_spare_the_search_for_jumps(seed):
    signal, sizes = held(seed), []

    def counted(s):
        sizes.append(s.size)
        return signal(s)

    exact(counted, 6.0, 1.0, A=0.0, w_tau=0.1, breaks=signal.times)
    assert len(sizes) == 3  # the pieces and their two halves, once
    sizes.clear()
    exact(counted, 6.0, 1.0, A=0.0, w_tau=0.1)
    assert len(sizes) > 30


def test_a_pulse_is_found_through_breaks():
    def pulse(s):
        return np.where(np.abs(s - 31.4567) < 1e-5, 50.0, -50.0)

    edges = [31.4567 - 1e-5, 31.4567 + 1e-5]
    x = exact(pulse, 100.0, 1.0, A=0.0, w_tau=0.0, breaks=edges)
    assert -np.log(x) == pytest.approx(2e-5, rel=1e-6)


def test_shapes_orders_and_kinds():
    t = np.array([[3.0, 0.0], [1.0, 3.0]])
    signal = SMOOTH["wave"]
    whole = exact(signal, t, 2.0, A=0.5, w_tau=0.3)
    assert whole.shape == (2, 2)
    assert whole.dtype == np.float64
    assert whole[0, 1] == 2.0
    assert whole[0, 0] == whole[1, 1]
    for place in np.ndindex(2, 2):
        assert whole[place] == pytest.approx(exact(signal, t[place], 2.0, A=0.5, w_tau=0.3), abs=1e-13)
    np.testing.assert_array_equal(
        exact(signal, torch.tensor(t), 2.0, A=0.5, w_tau=torch.tensor(0.3, dtype=torch.float64)), whole
    )
    many = exact(signal, t.ravel(), np.array([[1.0], [2.0]]), A=0.5, w_tau=0.3)
    assert many.shape == (2, 4)
    np.testing.assert_array_equal(many[1], whole.ravel())
    assert exact(signal, [], 2.0, A=0.5, w_tau=0.3).shape == (0,)
