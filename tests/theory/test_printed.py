"""`printed` solves equation 1 itself, which a solver and the closed form of held inputs confirm."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from liquidtime.theory import PiecewiseConstant, approximate, bound, exact, printed

T = np.linspace(0, 12, 121)


def wave(s):
    return 3 * np.sin(4 * s)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(("w_tau", "A", "x0"), [(0.5, 1.0, -1.0), (0.0, 2.0, 0.3), (3.0, -0.7, 1.5)])
def test_a_solver_agrees(w_tau, A, x0):
    def slope(s, x):
        return -(w_tau + sigmoid(wave(s))) * x + A * sigmoid(wave(s))

    run = solve_ivp(slope, (0, 12), [x0], method="DOP853", t_eval=T, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(printed(wave, T, x0, A=A, w_tau=w_tau), run.y[0], rtol=0, atol=2e-8)


def test_held_inputs_need_no_steps():
    held = PiecewiseConstant([0.0, 0.7, 3.1], [-2.0, 4.0, 0.5])
    jumps = printed(lambda s: held(s), T, -1.0, A=1.0, w_tau=0.5, breaks=[0.7, 3.1])
    np.testing.assert_allclose(printed(held, T, -1.0, A=1.0, w_tau=0.5), jumps, rtol=0, atol=1e-8)


def test_order_and_shape_of_times_do_not_matter():
    t = np.array([[5.0, 0.0], [2.5, 5.0]])
    x = printed(wave, t, -1.0, A=1.0, w_tau=0.5)
    assert x.shape == (2, 2)
    assert x[0, 1] == -1.0
    assert x[0, 0] == x[1, 1]


def test_without_a_leak_it_is_the_symmetric_equation():
    np.testing.assert_allclose(
        printed(wave, T, -1.0, A=1.0, w_tau=0.0), exact(wave, T, -1.0, A=1.0, w_tau=0.0), rtol=0, atol=2e-8
    )


def test_the_closed_form_is_not_a_solution_of_it():
    """Equation 1 rests at A·f/(w_tau + f) and not at A: the lemma's bound is broken at most times."""
    neuron = {"A": 1.0, "w_tau": 0.5}
    error = np.abs(printed(wave, T, -1.0, **neuron) - approximate(wave, T, -1.0, **neuron))
    assert error[-1] == pytest.approx(0.48, abs=0.01)
    assert np.mean(error > bound(T, -1.0, **neuron)) == pytest.approx(0.75, abs=0.05)
    symmetric = np.abs(exact(wave, T, -1.0, **neuron) - approximate(wave, T, -1.0, **neuron))
    assert (symmetric <= bound(T, -1.0, **neuron)).all()


def test_what_is_refused():
    with pytest.raises(ValueError, match="`w_tau` must be at least 0"):
        printed(wave, T, 0.0, A=1.0, w_tau=-0.1)
    with pytest.raises(ValueError, match="at least 0, the time of x0"):
        printed(wave, [-1.0], 0.0, A=1.0, w_tau=0.1)
    with pytest.raises(ValueError, match="changes too fast"):
        printed(lambda s: np.sign(np.sin(1e6 * s)), [0.0, 9.0], 0.0, A=1.0, w_tau=0.1, tolerance=1e-14)
