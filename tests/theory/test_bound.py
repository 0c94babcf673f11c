"""The lemma: its bound holds for every signal, and the proof's own signals approach both limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liquidtime.theory import PiecewiseConstant, approximate, bound, exact, sharpness
from liquidtime.theory.activity import sigmoid

NONLINEARITIES = {
    "sigmoid": sigmoid,
    "steep": lambda x: sigmoid(9.0 * x - 1.0),
    "half tanh": lambda x: 0.5 * (1.0 + np.tanh(x)),
    "clipped": lambda x: np.clip(0.5 + 0.2 * x, 0.0, 1.0),
    "narrow": lambda x: 0.3 + 0.1 * sigmoid(x),
}
ROUNDING = 1e-14


def assert_within(signal, t, x0, A, w_tau, f, slack=ROUNDING):
    x = exact(signal, t, x0, A=A, w_tau=w_tau, f=f)
    error = x - approximate(signal, t, x0, A=A, w_tau=w_tau, f=f)
    scale = max(1.0, abs(x0), abs(A))
    assert (np.abs(error) <= bound(t, x0, A=A, w_tau=w_tau) + slack * scale).all()
    lower, upper = sharpness(t, w_tau)
    c = x0 - A
    low, high = np.minimum(c * lower, c * upper), np.maximum(c * lower, c * upper)
    assert (error >= low - slack * scale).all()
    assert (error <= high + slack * scale).all()


numbers = st.floats(-20, 20)


@settings(max_examples=400, deadline=None)
@given(
    steps=st.lists(st.tuples(st.floats(0.001, 3), st.floats(-60, 60)), min_size=1, max_size=12),
    x0=numbers,
    A=numbers,
    w_tau=st.floats(1e-3, 5),
    f=st.sampled_from(sorted(NONLINEARITIES)),
)
def test_piecewise_constant_signals_keep_the_bound(steps, x0, A, w_tau, f):
    lengths, values = zip(*steps, strict=True)
    ends = np.cumsum(lengths)
    signal = PiecewiseConstant(np.concatenate([[0.0], ends[:-1]]), values)
    t = np.unique(np.concatenate([[0.0], ends, ends - 1e-4, np.linspace(0, 2 * ends[-1], 9)]))
    assert_within(signal, t, x0, A, w_tau, NONLINEARITIES[f])


@pytest.mark.parametrize("block", range(10))
def test_hundreds_of_smooth_signals_keep_the_bound(block):
    t = np.linspace(0, 8, 17)
    for seed in range(25):
        rng = np.random.default_rng([block, seed])
        scale = 10 ** rng.uniform(-1, 2)
        amplitude, pace, phase = rng.normal(0, scale, 4), rng.uniform(0, 5, 4), rng.uniform(0, 6.3, 4)
        f = NONLINEARITIES[rng.choice(sorted(NONLINEARITIES))]
        x0, A, w_tau = rng.normal(0, 3), rng.normal(0, 3), 10 ** rng.uniform(-2, 0.5)

        def signal(s, amplitude=amplitude, pace=pace, phase=phase):
            return np.sin(np.multiply.outer(s, pace) + phase) @ amplitude

        assert_within(signal, t, x0, A, w_tau, f, slack=1e-9)


def share(signal, t, w_tau, breaks=()):
    """(x(t) - x̃(t)) / c, with c = 1."""
    settings = {"A": 0.0, "w_tau": w_tau}
    return exact(signal, t, 1.0, breaks=breaks, **settings) - approximate(signal, t, 1.0, **settings)


def switched(t, C, delta):
    """The proof's signal: -C until t - delta, then C."""
    return PiecewiseConstant([0.0, t - delta], [-C, C])


PLACES = [(0.05, 0.1), (0.5, 0.01), (1.0, 1.0), (3.0, 0.3), (8.0, 0.05)]
STEPS = [(C, 10.0**-k) for C, k in ((4.0, 2), (7.0, 3), (11.0, 4), (16.0, 5), (22.0, 7))]


@pytest.mark.parametrize(("t", "w_tau"), PLACES)
def test_the_proofs_signals_approach_the_upper_limit(t, w_tau):
    upper = sharpness(t, w_tau)[1]
    gaps = []
    for C, delta in STEPS:
        eps = sigmoid(np.array(-C))
        gap = upper - share(switched(t, C, delta), t, w_tau)
        promised = upper * (1 - (np.exp(-eps * t - delta) - np.exp(-(1 - eps) * t) * eps))
        assert 0 < gap <= promised + 1e-15
        gaps.append(gap)
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 1e-6 * upper


@pytest.mark.parametrize(("t", "w_tau"), PLACES)
def test_the_negated_signals_approach_the_lower_limit(t, w_tau):
    lower, upper = sharpness(t, w_tau)
    gaps = []
    for C, delta in STEPS:
        eps = sigmoid(np.array(-C))
        gap = share(switched(t, -C, delta), t, w_tau) - lower
        promised = upper * (np.exp(-(1 - eps) * (t - delta)) - np.exp(-eps * t) * (1 - eps)) - lower
        assert 0 < gap <= promised + 1e-15
        gaps.append(gap)
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 1e-6 * upper


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("t", "w_tau"), [(0.5, 0.01), (1.0, 1.0), (3.0, 0.3)])
def test_continuous_signals_approach_both_limits(sign, t, w_tau):
    """The proof's I_n: continuous, at most C, tending to the switched signal at every time."""
    lower, upper = sharpness(t, w_tau)
    limit = upper if sign > 0 else lower
    C, delta = 22.0, 1e-7
    jump = share(switched(t, sign * C, delta), t, w_tau)
    distances, gaps = [], []
    for n in (10, 100, 1000, 10**6):
        foot = t - delta - 0.4 * t / n

        def ramp(s, foot=foot):
            return sign * C * np.clip(2 * (s - foot) / (t - delta - foot) - 1, -1.0, 1.0)

        reached = share(ramp, t, w_tau, breaks=[foot, t - delta])
        distances.append(abs(reached - jump))
        gaps.append(abs(limit - reached))
        assert lower < reached < upper
    assert (np.diff(distances) < 0).all()
    assert distances[-1] < 1e-6
    assert (np.diff(gaps) < 0).all()
    assert gaps[-1] < 2e-6 * upper


def test_an_f_inside_a_narrower_range_stays_away_from_the_limits():
    t, w_tau = 2.0, 0.5
    lower, upper = sharpness(t, w_tau)
    for C in (-1e3, 1e3):
        signal = switched(t, C, 1e-6)
        x = exact(signal, t, 1.0, A=0.0, w_tau=w_tau, f=NONLINEARITIES["narrow"])
        reached = x - approximate(signal, t, 1.0, A=0.0, w_tau=w_tau, f=NONLINEARITIES["narrow"])
        assert lower + 0.1 * upper < reached < 0.9 * upper


def test_formulas_at_known_numbers():
    signal = PiecewiseConstant([0.0, 1.0], [0.0, np.log(3.0)])  # f = 1/2, then 3/4
    x = exact(signal, 3.0, 5.0, A=1.0, w_tau=0.25)
    assert x == pytest.approx(4 * np.exp(-0.75 - 0.5 - 1.5) + 1)
    assert approximate(signal, 3.0, 5.0, A=1.0, w_tau=0.25) == pytest.approx(4 * np.exp(-3.0) * 0.25 + 1)
    assert bound(3.0, 5.0, A=1.0, w_tau=0.25) == pytest.approx(4 * np.exp(-0.75))
    lower, upper = sharpness([0.0, 2.0], 0.25)
    np.testing.assert_allclose(upper, [1.0, np.exp(-0.5)])
    np.testing.assert_allclose(lower, [0.0, np.exp(-2.5) - np.exp(-0.5)])
    assert bound(np.zeros((2, 3)), 5.0, A=1.0, w_tau=0.25).shape == (2, 3)


def test_the_sigmoid_does_not_overflow():
    np.testing.assert_allclose(
        sigmoid(np.array([-1e9, -2.0, 0.0, 2.0, 1e9])), [0, 1 / (1 + np.e**2), 0.5, 1 / (1 + np.e**-2), 1]
    )
