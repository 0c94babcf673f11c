"""Cells solved by torchdiffeq's adaptive solver: each series its own interval, in one solve."""

import sys

import pytest
import torch

from liquidtime import cells
from liquidtime.baselines import recurrent
from liquidtime.solvers import Dopri5

pytest.importorskip("torchdiffeq")
B, D, H = 4, 3, 5
F64 = torch.float64
EXACT = Dopri5(rtol=1e-8, atol=1e-9)
KINDS = {
    "CTRNNCell": recurrent.CTRNNCell,
    "GRUODECell": recurrent.GRUODECell,
    "LTCCell": cells.LTCCell,
    "LipschitzRNNCell": lambda D, H, **more: recurrent.LipschitzRNNCell(D, H, step=1.0, **more),
    "ODELSTMCell": recurrent.ODELSTMCell,
    "ODERNNCell": recurrent.ODERNNCell,
}
over_kinds = pytest.mark.parametrize("kind", KINDS)
over_flows = pytest.mark.parametrize("kind", ["LipschitzRNNCell", "ODELSTMCell", "ODERNNCell"])


def make(kind, solver, **options):
    torch.manual_seed(1)
    return KINDS[kind](D, H, solver=solver, **options).double()


def sample(cell, rows=B):
    torch.manual_seed(2)
    x, dt = torch.randn(rows, D, dtype=F64), torch.linspace(0.0, 2.0, rows, dtype=F64)
    return x, tuple(torch.randn(rows, size, dtype=F64) for size in cell.state_sizes), dt


@pytest.mark.slow
@over_kinds
def test_equals_fine_steps_for_every_series_with_its_own_interval(kind):
    cell, fine = make(kind, EXACT), make(kind, "rk4", unfolds=400)
    inputs = sample(cell)
    torch.testing.assert_close(cell(*inputs)[0], fine(*inputs)[0], rtol=1e-6, atol=1e-7)


@over_kinds
def test_a_row_is_what_it_is_alone_up_to_the_tolerance(kind):
    cell = make(kind, Dopri5(rtol=1e-6, atol=1e-7))
    x, state, dt = sample(cell)
    y, _ = cell(x, state, dt)
    for i in range(B):
        one = slice(i, i + 1)
        alone, _ = cell(x[one], tuple(part[one] for part in state), dt[one])
        torch.testing.assert_close(y[one], alone, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@over_kinds
def test_gradients(kind):
    cell = make(kind, EXACT)
    x, state, dt = sample(cell, 2)
    dt = dt + 0.5

    def run(x, dt, *state):
        return cell(x, state, dt)[0]

    inputs = [v.requires_grad_() for v in (x, dt, *state)]
    assert torch.autograd.gradcheck(run, inputs, eps=1e-5, atol=1e-5, fast_mode=True)


@over_flows
def test_the_adjoint_gives_the_same_gradients(kind):
    found = []
    for solver in (EXACT, Dopri5(rtol=1e-8, atol=1e-9, adjoint=True)):
        cell = make(kind, solver)
        x, state, dt = sample(cell)
        inputs = (x.requires_grad_(), dt.requires_grad_(), *(part.requires_grad_() for part in state))
        y, _ = cell(x, state, dt)
        found.append(torch.autograd.grad(y.square().sum(), [*inputs, *cell.parameters()]))
    for plain, adjoint in zip(*found, strict=True):
        torch.testing.assert_close(plain, adjoint, rtol=1e-5, atol=1e-6)


def test_the_adjoint_refuses_what_does_not_name_its_tensors():
    cell = make("CTRNNCell", Dopri5(adjoint=True))
    with pytest.raises(ValueError, match="`adjoint` needs a right-hand side that lists its tensors"):
        cell(*sample(cell))


@over_kinds
def test_no_series_padding_and_type(kind):
    cell = make(kind, Dopri5())
    y, _ = cell(*sample(cell, 0))
    assert y.shape == (0, H)
    x, dt = torch.randn(2, 4, D, dtype=F64), torch.rand(2, 4, dtype=F64)
    x[1, 2:] = float("nan")
    y, _ = cell.scan(x, cell.initial_state(x), dt, torch.tensor([4, 2]))
    alone, _ = cell.scan(x[1:, :2], cell.initial_state(x[1:]), dt[1:, :2])
    torch.testing.assert_close(y[1:, :2], alone, rtol=1e-2, atol=1e-3)
    assert not y[1, 2:].any()
    low = cell.float()
    x, dt = torch.randn(2, D), torch.ones(2)
    assert low(x, low.initial_state(x), dt)[0].dtype == torch.float32


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchdiffeq", None)
    cell = make("ODERNNCell", "dopri5")
    with pytest.raises(ImportError, match="needs the package torchdiffeq"):
        cell(*sample(cell))


def test_the_steps_keep_the_tolerance_of_the_worst_series():
    cell = make("ODERNNCell", Dopri5(rtol=1e-6, atol=1e-6))
    fine = make("ODERNNCell", "rk4", unfolds=400)
    h = torch.zeros(64, H, dtype=F64)
    h[0] = 1.0
    dt = torch.zeros(64, dtype=F64)
    dt[0] = 4.0  # one series of 64 moves; a mean over the batch would forgive it a hundredfold error
    torch.testing.assert_close(cell.field(h, dt), fine.field(h, dt), rtol=1e-5, atol=1e-5)
    assert torch.equal(cell.field(h, dt)[1:], h[1:])
