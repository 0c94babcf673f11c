# ruff: noqa: E501
"""What the theory refuses, and in which words."""

import re

import numpy as np
import pytest

from liquidtime.theory import PiecewiseConstant, approximate, bound, exact, sharpness

HELD = PiecewiseConstant([0.0, 1.0], [0.5, -3.0])
AT = {"A": 1.0, "w_tau": 0.5}


def wave(s):
    return np.sin(s)


CASES = [
    (lambda: exact(wave, [1.0, -2.0], 0.0, **AT), ValueError, "`t` must be at least 0, the time of x0; 1 of 2 are not, the first is -2"),
    (lambda: approximate(wave, -1, 0.0, **AT), ValueError, "`t` must be at least 0"),
    (lambda: bound([1.0, np.inf], 0.0, **AT), ValueError, "`t` must be finite; 1 of 2 are not, the first is inf"),
    (lambda: sharpness(-1.0, 0.5), ValueError, "`t` must be at least 0"),
    (lambda: bound(1.0, np.nan, **AT), ValueError, "`x0` must be finite; 1 of 1 are not, the first is nan"),
    (lambda: bound(1.0, 0.0, A=1.0, w_tau=0.0), ValueError, "`w_tau` must be greater than 0, otherwise the bound does not decay; got 0"),
    (lambda: sharpness(1.0, [0.5, -0.5]), ValueError, "`w_tau` must be greater than 0, otherwise the bound does not decay; got -0.5"),
    (lambda: exact(wave, 1.0, "x", **AT), TypeError, "`x0` must be numbers; got <U1"),
    (lambda: exact(lambda s: s, 4.0, 0.0, f=lambda x: x, **AT), ValueError, "`f` must have values in [0, 1], since the lemma needs 0 ≤ f ≤ 1; f(4) is 4. Pass a function such as the sigmoid."),
    (lambda: exact(HELD, 4.0, 0.0, f=np.tanh, **AT), ValueError, "the lemma needs 0 ≤ f ≤ 1; f(-3) is -0.995"),
    (lambda: approximate(wave, 2.0, 0.0, f=np.tanh, **AT), ValueError, "the lemma needs 0 ≤ f ≤ 1; f(-0.909297) is -0.7207"),
    (lambda: approximate(wave, 2.0, 0.0, f=lambda x: x * np.nan, **AT), ValueError, "f(0.909297) is nan"),
    (lambda: exact(lambda s: np.stack([s, s]), 2.0, 0.0, **AT), ValueError, "`signal` must return one number per time, shape (N,) = (640,); got (2, 640)"),
    (lambda: approximate(lambda s: s * np.inf, 2.0, 0.0, **AT), ValueError, "`signal` must be finite; it is inf at t = 2"),
    (lambda: exact(lambda s: 9 * np.sin(1e9 * s), 4.0, 0.0, **AT), ValueError, "`signal` varies too fast to be integrated to `tolerance` = 1e-10"),
    (lambda: exact(wave, 1.0, 0.0, tolerance=0.0, **AT), ValueError, "`tolerance` must be finite and greater than 0; got 0.0"),
    (lambda: exact(wave, 1.0, 0.0, breaks=[-1.0], **AT), ValueError, "`breaks` must be at least 0"),
    (lambda: PiecewiseConstant([1.0, 2.0], [0, 0]), ValueError, "`times` must have shape (N,) and start at 0; got shape (2,), starting at 1"),
    (lambda: PiecewiseConstant([], []), ValueError, "got shape (0,), no times"),
    (lambda: PiecewiseConstant([0.0, 2.0, 2.0], [0, 0, 0]), ValueError, "`times` must increase; 1 do not, the first at position 2 (2 then 2)"),
    (lambda: PiecewiseConstant([0.0, 2.0], [1.0]), ValueError, "`values` must have shape (N,) = (2,); got (1,). One value per time."),
    (lambda: PiecewiseConstant([0.0], [np.nan]), ValueError, "`values` must be finite"),
    (lambda: HELD(-1.0), ValueError, "`t` must be at least 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), CASES, ids=[f"{k}-{case[2][:30]}" for k, case in enumerate(CASES)])
def test_refused(call, error, text):
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_a_held_signal_is_right_continuous_and_immutable():
    np.testing.assert_array_equal(HELD([[0.0, 0.999], [1.0, 50.0]]), [[0.5, 0.5], [-3.0, -3.0]])
    with pytest.raises(AttributeError):
        HELD.times = [0.0]
    with pytest.raises(ValueError, match="read-only"):
        HELD.values[0] = 1.0
