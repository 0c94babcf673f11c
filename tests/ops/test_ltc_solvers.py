"""Every solver of liquid neurons on the kernel against its definition and against the cell's own loop."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import liquidtime as lt
from liquidtime.cells import Cell, LTCCell
from liquidtime.closed_form import AlgorithmOne
from liquidtime.ops import using_backend
from liquidtime.ops.ltc_scan import SOLVERS
from liquidtime.ops.native import library
from ops.scans import TOLERANCE, assert_same, ltc_by_kernel
from ops.test_ltc_scan import compare, draw

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")


def test_the_solvers_are_those_of_the_library():
    assert set(SOLVERS) == set(lt.solvers.SOLVERS)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=12, deadline=None)
@given(
    B=st.integers(1, 20),
    T=st.integers(0, 5),
    D=st.integers(1, 6),
    H=st.integers(1, 20),
    ragged=st.booleans(),
    density=st.sampled_from([0.0, 0.3, 1.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_odd_shapes_equal_the_definition(solver, B, T, D, H, ragged, density, dtype, seed):
    lengths = torch.randint(0, T + 1, (B,), generator=torch.Generator().manual_seed(seed)).tolist() if ragged else None
    compare(draw(B, T, D, H, dtype, lengths, density, seed), solver)


@pytest.mark.parametrize("solver", SOLVERS)
def test_gradcheck(solver):
    (x, v, dt, *parameters), lengths, graphs = draw(2, 2, 2, 3, torch.float64, [2, 1])

    def run(x, v, dt, *parameters):
        return ltc_by_kernel(x, v, dt, lengths, parameters, *graphs, 2, solver)

    assert torch.autograd.gradcheck(run, (x, v, dt, *parameters))


@pytest.mark.usefixtures("target")
def test_every_instruction_set_of_this_machine():
    for solver in SOLVERS:
        for dtype in (torch.float32, torch.float64):
            compare(draw(11, 3, 3, 7, dtype, [k % 4 for k in range(11)]), solver)


@pytest.mark.parametrize("solver", ["midpoint", "rk4"])
def test_the_operator(solver):
    case = draw(2, 3, 2, 3, torch.float64, [3, 1])
    compare(case, solver, traced=True)
    (x, v, dt, *parameters), lengths, graphs = case
    arguments = (x, v, dt, lengths, parameters, [*graphs[0], *graphs[1]], 2, True, True, solver)
    torch.library.opcheck(torch.ops.liquidtime.ltc_scan.default, arguments)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_cell_equals_its_plain_loop(solver, dtype):
    torch.manual_seed(0)
    cell = LTCCell(3, wiring=lt.wirings.AutoNCP(12, 3), solver=solver, unfolds=12).to(dtype)
    x, dt, lengths = torch.randn(5, 6, 3, dtype=dtype), torch.rand(5, 6, dtype=dtype), torch.tensor([6, 0, 2, 6, 5])
    x = x.masked_fill((torch.arange(6) >= lengths.unsqueeze(1)).unsqueeze(-1), float("nan"))
    both = []
    for way in (Cell.scan, LTCCell.scan):
        with using_backend("native"):
            y, (v,) = way(cell, x, cell.initial_state(x), dt, lengths)
        grads = torch.autograd.grad(y.square().sum() + v.sum(), list(cell.parameters()))
        both.append([y, v, *grads])
    assert_same(both[1], both[0], TOLERANCE[dtype])


@pytest.mark.parametrize("solver", ["euler", "rk4", "hold", "midpoint"])
def test_no_time_is_no_change_bit_by_bit(solver):
    cell = LTCCell(2, 9, solver=solver)
    x, v = torch.randn(3, 4, 2), torch.rand(3, 9)
    with using_backend("native"):
        _, (after,) = cell.scan(x, (v,), torch.zeros(3, 4))
    assert torch.equal(after, v)


def test_closed_forms_over_long_intervals_reach_their_rest():
    torch.manual_seed(0)
    for solver in ("hold", "midpoint"):
        cell = LTCCell(2, 9, solver=solver, unfolds=1)
        x, dt = torch.randn(3, 1, 2), torch.full((3, 1), 1e6)
        v = torch.rand(3, 9, requires_grad=True)
        with using_backend("native"):
            y, _ = cell.scan(x, (v,), dt)
        with using_backend("reference"):
            expected, _ = cell.scan(x, (v,), dt)
        torch.testing.assert_close(y, expected)
        for mine, theirs in zip(
            torch.autograd.grad(y.sum(), list(cell.parameters())),
            torch.autograd.grad(expected.sum(), list(cell.parameters())),
            strict=True,
        ):
            assert torch.isfinite(mine).all()
            torch.testing.assert_close(mine, theirs)


def test_the_papers_algorithm_and_own_solvers_run_the_loop():
    class Longer(lt.solvers.Hold):
        def step(self, drive, x, h):
            return super().step(drive, x, 2 * h)

    torch.manual_seed(0)
    x, dt = torch.randn(3, 4, 2), torch.rand(3, 4)
    for solver in (AlgorithmOne(), Longer()):
        cell = LTCCell(2, 6, solver=solver, unfolds=1)
        with using_backend("native"):
            y, _ = cell.scan(x, cell.initial_state(x), dt)
        assert torch.equal(y, Cell.scan(cell, x, cell.initial_state(x), dt)[0])
