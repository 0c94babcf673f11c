"""The kernel's own exp, expm1, tanh, sigmoid and activations, in units in the last place over their whole range.

Each is driven alone through a scan whose weights are 0 and 1, so that nothing else rounds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from liquidtime.ops.cfc_scan import Form
from liquidtime.ops.ltc_scan import graph_of
from liquidtime.ops.native import library
from ops.scans import by_kernel, ltc_by_kernel

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

WIDE = np.finfo(np.longdouble).eps < np.finfo(np.float64).eps  # else there is nothing to hold float64 to
DTYPES = [torch.float32, pytest.param(torch.float64, marks=pytest.mark.skipif(not WIDE, reason="no longer float"))]
EDGE = {torch.float32: 87.0, torch.float64: 708.0}  # where exp stops, just inside of what the type can hold
SMALL = 2.0**-40  # tanh(SMALL·v) is SMALL·v to more than any type here shows


def points(dtype: torch.dtype, most: float, least: float = 1e-30) -> torch.Tensor:
    """Return numbers of both signs, evenly spread in size and in logarithm."""
    g = torch.Generator().manual_seed(0)
    even = torch.rand(8_000, generator=g, dtype=torch.float64) * most
    sizes = torch.exp(torch.rand(8_000, generator=g, dtype=torch.float64) * math.log(most / least) + math.log(least))
    either = torch.cat([even, sizes, torch.tensor([0.0, most], dtype=torch.float64)])
    return torch.cat([either, -either]).to(dtype)


def scan(form: Form, x: torch.Tensor, weights: list, dt: torch.Tensor | None = None) -> torch.Tensor:
    n = len(x)
    intervals = x.new_zeros(n, 1) if dt is None else dt.reshape(n, 1)
    full = [torch.tensor(w, dtype=x.dtype) for w in weights]
    y, _ = by_kernel(x.reshape(n, 1, 1), (x.new_zeros(n, 1),), intervals, None, full, form)
    return y.flatten()


def head(g1=(0.0, 0.0), g2=(0.0, 0.0), c=(0.0, 0.0)) -> list:
    """The slope and offset of each head as a function of x; h plays no part."""
    return [[[slope, 0.0] for slope, _ in (g1, g2, (0.0, 0.0), c)], [offset for _, offset in (g1, g2, (0.0, 0.0), c)]]


def run_tanh(x):
    return scan(Form("no_gate", layers=0), x, head(g1=(1.0, 0.0)))


def run_sigmoid(x):  # 0 + σ(x)·tanh(50), and tanh(50) is 1
    return scan(Form("no_gate", layers=0), x, head(g2=(0.0, 50.0), c=(1.0, 0.0)))


def run_lecun_tanh(x):
    return scan(Form("no_gate", layers=0, head_activation="lecun_tanh"), x, head(g1=(1.0, 0.0)))


def run_exp(x, rate=None):  # 1·exp(-|x|·(rate + σ(100)))·σ(100) + 0, and σ(100) is 1
    """An interval is never negative, so the sign is that of the rate, -2 + 1 for positive numbers, which are alone."""
    rate = (-2.0 if (x > 0).any() else 0.0) if rate is None else rate
    weights = [[[0.0, 0.0]], [100.0], [0.0], [rate], [1.0]]
    return scan(Form("cf_s_paper", 1, 0), torch.zeros_like(x), weights, x.abs())


def run_expm1(x, leak=None):  # one neuron without synapses moves from 0 away from or towards 1: 0 - (1 - 0)·expm1(x)
    n = len(x)
    nothing = graph_of(torch.zeros(1, 1))
    sign = x.new_full((1,), (-1.0 if (x > 0).any() else 1.0) if leak is None else leak)
    inputs = x.new_zeros(n, 1, 1), x.new_zeros(n, 1), x.abs().reshape(n, 1)
    parameters = [x.new_zeros(0)] * 8 + [sign, sign, x.new_ones(1)]
    y, _ = ltc_by_kernel(*inputs, None, parameters, nothing, nothing, 1, "hold")
    return -y.flatten()


def run_activation(name):
    def run(x):
        weights = [[[1.0, 0.0]], [0.0], [[SMALL], [0.0], [0.0], [0.0]], [0.0] * 4]
        return scan(Form("no_gate", layers=1, activation=name), x, weights) / SMALL

    return run


def exact_sigmoid(v):
    return 1 / (1 + np.exp(-v))


def exact_gelu(v):
    return v * (1 + np.array([math.erf(float(e) / math.sqrt(2)) for e in v], dtype=np.longdouble)) / 2


def exact_lecun(dtype):
    def run(v):
        slope, height = (torch.tensor(c, dtype=dtype).item() for c in (0.666, 1.7159))
        return np.longdouble(height) * np.tanh(np.longdouble(slope) * v)

    return run


def off(x: torch.Tensor, y: torch.Tensor, exact, of=None) -> float:
    """Return the largest error of y in units in the last place of the exact value, or of what `of` gives."""
    v = x.numpy().astype(np.longdouble)
    right = exact(v)
    narrow = np.float32 if x.dtype is torch.float32 else np.float64
    size = np.abs(right if of is None else of(v)).astype(narrow)
    unit = np.spacing(np.maximum(size, np.finfo(narrow).tiny)).astype(np.longdouble)
    return float(np.max(np.abs(y.numpy().astype(np.longdouble) - right) / unit))


@pytest.fixture(autouse=True)
def _on_every_instruction_set(target):
    """Each test runs once with each."""


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_in_units_in_the_last_place(dtype):
    edge = EDGE[dtype]
    for name, run, exact, x, most in (
        ("exp", run_exp, np.exp, -points(dtype, edge).abs(), 1.5),
        ("expm1", run_expm1, np.expm1, -points(dtype, edge).abs(), 1.5),
        ("exp of positive numbers", run_exp, np.exp, points(dtype, edge).abs(), 1.5),
        ("tanh", run_tanh, np.tanh, points(dtype, 60.0), 3.0),
        ("sigmoid", run_sigmoid, exact_sigmoid, points(dtype, edge), 3.0),
        ("lecun_tanh", run_lecun_tanh, exact_lecun(dtype), points(dtype, 60.0), 4.0),
    ):
        assert off(x, run(x), exact) <= most, name


@pytest.mark.parametrize("dtype", DTYPES)
def test_activations_in_units_in_the_last_place(dtype):
    x = points(dtype, 60.0, 1e-20)  # one unit and a half of these bounds is tanh's of small numbers, on the way out
    for name, exact, most in (
        ("relu", lambda v: np.maximum(v, 0), 1.5),
        ("tanh", np.tanh, 4.5),
        ("lecun_tanh", exact_lecun(dtype), 5.5),
        ("silu", lambda v: v * exact_sigmoid(v), 4.5),
    ):
        assert off(x, run_activation(name)(x), exact) <= most, name
    # 1 + erf cancels for negative numbers, so the unit is that of the number itself.
    assert off(x, run_activation("gelu")(x), exact_gelu, of=lambda v: v) <= 3.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_beyond_the_range_and_not_a_number(dtype):
    far = torch.tensor([-1e4, -1e30], dtype=dtype)
    floor = 1.7e-38 if dtype is torch.float32 else 3.4e-308  # e^-edge, about the smallest normal number
    for run in (run_exp, run_sigmoid):
        assert (run(far) > 0).all()
        assert (run(far) <= floor).all()
    assert run_sigmoid(-far).tolist() == [1.0, 1.0]
    assert run_tanh(far).tolist() == [-1.0, -1.0]
    assert run_expm1(far).tolist() == [-1.0, -1.0]
    nan = torch.tensor([torch.nan], dtype=dtype)
    one = torch.ones(1, dtype=dtype)
    assert run_exp(one, rate=torch.nan).isnan().all()
    assert run_expm1(one, leak=torch.nan).isnan().all()
    assert (run_exp(-far) >= (1e37 if dtype is torch.float32 else 1e307)).all()
    for run in (run_sigmoid, run_tanh, run_lecun_tanh, *map(run_activation, ("silu", "gelu"))):
        assert run(nan).isnan().all()
