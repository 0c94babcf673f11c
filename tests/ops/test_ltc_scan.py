from __future__ import annotations

import ctypes

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd.graph import saved_tensors_hooks

import liquidtime as lt
from liquidtime.cells import Cell, LTCCell
from liquidtime.ops import using_backend
from liquidtime.ops.ltc_scan import Graph, graph_of
from liquidtime.ops.ltc_scan.cpu import problem
from liquidtime.ops.ltc_scan.cpu.problem import Problem
from liquidtime.ops.native import library
from ops.scans import TOLERANCE, assert_same, gradients_of, ltc_by_kernel, ltc_by_loop, row_by_row, weighing

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")


def draw(B, T, D, H, dtype, lengths=None, density=0.6, seed=0):
    g = torch.Generator().manual_seed(seed)

    def rand(*shape):
        return torch.rand(*shape, generator=g, dtype=torch.float64)

    graphs = [graph_of(rand(D, H) < density), graph_of(rand(H, H) < density)]
    parameters = []
    for graph in graphs:
        n = len(graph.pre)
        parameters += [rand(n), 3 + 5 * rand(n), rand(n), 2 * rand(n) - 1]
    parameters += [rand(H) + 0.1, rand(H) - 0.5, rand(H) + 0.4]
    x, v, dt = 2 * rand(B, T, D) - 1, rand(B, H), rand(B, T)
    leaves = [t.to(dtype).requires_grad_() for t in (x, v, dt, *parameters)]
    counts = None if lengths is None else torch.tensor(lengths, dtype=torch.int64).reshape(B)
    return leaves, counts, graphs


def run(way, leaves, lengths, graphs, **options):
    x, v, dt, *parameters = leaves
    return way(x, v, dt, lengths, parameters, *graphs, 3, **options)


def compare(case, solver="semi_implicit", **options):
    leaves, tolerance = case[0], TOLERANCE[case[0][0].dtype]
    y, last = run(ltc_by_kernel, *case, solver=solver, **options)
    expected_y, expected_last = run(ltc_by_loop, *case, solver=solver)
    assert_same([y, last], [expected_y, expected_last], tolerance)
    losses = weighing(expected_y, (expected_last,))
    expected = gradients_of(losses.sum(), leaves, retain_graph=True)
    mine = gradients_of(weighing(y, (last,)).sum(), leaves)
    assert_same(mine, expected, tolerance, lambda: row_by_row(losses, leaves))


@settings(max_examples=40, deadline=None)
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
def test_odd_shapes_equal_the_definition(B, T, D, H, ragged, density, dtype, seed):
    lengths = torch.randint(0, T + 1, (B,), generator=torch.Generator().manual_seed(seed)).tolist() if ragged else None
    compare(draw(B, T, D, H, dtype, lengths, density, seed))


@pytest.mark.parametrize("traced", [False, True])
def test_the_operator_and_the_eager_way(traced):
    compare(draw(3, 4, 2, 5, torch.float64, [4, 0, 3]), traced=traced)


@pytest.mark.usefixtures("target")
def test_every_instruction_set_of_this_machine():
    for dtype in (torch.float32, torch.float64):
        compare(draw(19, 3, 3, 7, dtype, [k % 4 for k in range(19)]))


def test_gradcheck():
    (x, v, dt, *parameters), lengths, graphs = draw(2, 2, 2, 3, torch.float64, [2, 1])

    def run(x, v, dt, *parameters):
        return ltc_by_kernel(x, v, dt, lengths, parameters, *graphs, 2)

    assert torch.autograd.gradcheck(run, (x, v, dt, *parameters))


@pytest.mark.parametrize("traced", [False, True])
def test_second_derivatives_are_refused(traced):
    (x, v, dt, *parameters), lengths, graphs = draw(2, 2, 2, 3, torch.float64)
    y, _ = ltc_by_kernel(x, v, dt, lengths, parameters, *graphs, 2, traced=traced)
    (first,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(first.square().sum(), x)


def test_the_operator_is_registered_as_it_should_be():
    (x, v, dt, *parameters), lengths, graphs = draw(2, 3, 2, 3, torch.float64, [3, 1])
    arguments = (x, v, dt, lengths, parameters, [*graphs[0], *graphs[1]], 2, True, True, "semi_implicit")
    torch.library.opcheck(torch.ops.liquidtime.ltc_scan.default, arguments)


@pytest.mark.parametrize("wiring", [None, lt.wirings.AutoNCP(12, 3)])
def test_a_layer_equals_its_cells_plain_loop(wiring):
    torch.manual_seed(0)
    cell = LTCCell(3, None if wiring else 6, wiring)
    x, dt, lengths = torch.randn(5, 6, 3), torch.rand(5, 6), torch.tensor([6, 0, 2, 6, 5])
    padding = (torch.arange(6) >= lengths.unsqueeze(1)).unsqueeze(-1)
    x = x.masked_fill(padding, float("nan"))
    results = []
    for way in (Cell.scan, LTCCell.scan):
        with using_backend("native"):
            y, (v,) = way(cell, x, cell.initial_state(x), dt, lengths)
        grads = torch.autograd.grad(y.square().sum() + v.sum(), list(cell.parameters()))
        results.append([y, v, *grads])
    assert_same(results[1], results[0], 1e-5)


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize("solver", ["semi_implicit", "euler", "rk4", "hold", "midpoint"])
def test_an_interval_of_no_length_leaves_the_state_bit_by_bit(solver, backend):
    torch.manual_seed(0)
    cell = LTCCell(2, 9, solver=solver)
    x, v = torch.randn(50, 6, 2), torch.randn(50, 9)
    with using_backend(backend):
        _, (after,) = cell.scan(x, (v,), torch.zeros(50, 6))
    assert torch.equal(after, v)


def test_a_state_dict_brings_its_own_synapses():
    torch.manual_seed(0)
    first, second = (LTCCell(2, wiring=lt.wirings.Random(9, sparsity=0.5, seed=seed)) for seed in (1, 2))
    second.load_state_dict(first.state_dict())
    x, dt = torch.randn(3, 4, 2), torch.rand(3, 4)
    with using_backend("native"):
        ys = [cell.scan(x, cell.initial_state(x), dt)[0] for cell in (first, second)]
    assert torch.equal(*ys)


def problem_of(solver: str, wiring: lt.wirings.Wiring | None = None, unfolds: int = 6) -> Problem:
    """What a layer hands to the kernel."""
    seen: list[Problem] = []
    layer = lt.LTC(8, None if wiring else 20, wiring, solver=solver, unfolds=unfolds)

    def call(function: str, p: Problem, inputs: object) -> None:
        seen.append(p)

    with pytest.MonkeyPatch.context() as patch, using_backend("native"), torch.no_grad():
        patch.setattr(problem, "_call", call)
        layer(torch.randn(2, 3, 8), dt=torch.rand(2, 3))
    return seen[0]


def parameters_of(graph: lt.wirings.Adjacency) -> tuple[list[torch.Tensor], Graph, Graph]:
    graphs = [graph_of(torch.tensor(part != 0)) for part in (graph.sensory, graph.adjacency)]
    sizes = [len(part.pre) for part in graphs for _ in range(4)] + [graph.units] * 3
    return [torch.rand(size).requires_grad_() for size in sizes], *graphs


def test_a_sparse_wiring_is_paid_by_synapse():
    """The kernel is given the synapses that the wiring has and no others, and so is what it keeps for the way back."""
    wiring = lt.wirings.AutoNCP(20, 4)
    graph = wiring.build(8)
    p = problem_of("semi_implicit", wiring)
    sensory, recurrent = int((graph.sensory != 0).sum()), int((graph.adjacency != 0).sum())
    assert (p.sensory.count, p.recurrent.count) == (sensory, recurrent)
    assert sensory + recurrent < 0.5 * (8 * 20 + 20 * 20)
    dense = problem_of("semi_implicit")
    assert (dense.sensory.count, dense.recurrent.count) == (8 * 20, 20 * 20)
    kept: list[int] = []
    with using_backend("native"), saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        x, dt, v = torch.randn(2, 3, 8), torch.rand(2, 3), torch.zeros(2, 20)
        ltc_by_kernel(x, v, dt, None, *parameters_of(graph), 6)
    states = 2 * 3 * 6 * 20 * 3  # of each row and unfold potential, conductance and current, whatever the synapses
    assert sorted(kept) == sorted([x.numel(), v.numel(), dt.numel(), states] + [sensory, recurrent] * 4 + [20] * 3)


def test_the_number_of_threads_changes_no_bit():
    """Neither do rows of one length, whose order nothing else settles."""
    leaves, lengths, graphs = draw(150, 12, 3, 12, torch.float32, [k % 4 * 4 for k in range(150)])
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            y, last = run(ltc_by_kernel, leaves, lengths, graphs)
            results.append([y, last, *torch.autograd.grad(y.square().sum() + last.sum(), leaves)])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(one, two) for one, two in zip(results[0], other, strict=True))


@pytest.mark.parametrize(("solver", "stages"), [("semi_implicit", 1), ("euler", 1), ("rk4", 4), ("midpoint", 2)])
def test_threads_are_chosen_by_how_often_synapses_are_read(solver, stages):
    p = problem_of(solver, unfolds=6)
    assert problem.kernel().lt_ltc_work(ctypes.addressof(p)) == 16 * (8 * 20 + stages * 6 * 20 * 20)
