"""A wired CfC over a sequence: one kernel call for each layer of neurons against the loop that steps them in turn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import liquidtime as lt
from liquidtime.cells import VARIANTS, Cell, CfCCell, MixedMemory, WiredCfCCell
from liquidtime.ops import using_backend
from liquidtime.ops.native import library
from liquidtime.wirings import NCP, Adjacency, AutoNCP, FullyConnected, Random
from ops.scans import TOLERANCE, assert_same, gradients_of, row_by_row, weighing

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

WIRINGS = {
    "NCP": NCP(7, 5, 3, sensory_fanout=3, inter_fanout=2, recurrent_command_synapses=6, motor_fanin=3),
    "AutoNCP": AutoNCP(20, 4),
    "FullyConnected": FullyConnected(9, 2),
    "Random": Random(9, 3, sparsity=0.6),
}


def graph(seed: int, D: int, units: int, outputs: int, layers: int, feedback: bool = False) -> Adjacency:
    """Synapses between any two layers, forwards only or both ways; neurons are dealt to layers at random."""
    rng = np.random.default_rng(seed)
    deal = np.concatenate([np.arange(layers), rng.integers(0, layers, units - layers)])
    rng.shuffle(deal)
    adjacency = rng.choice((-1, 0, 1), (units, units))
    if not feedback:
        adjacency[deal[:, None] > deal[None, :]] = 0
    members = [rng.permutation(np.flatnonzero(deal == k)).tolist() for k in range(layers)]
    return Adjacency(adjacency, rng.choice((-1, 0, 1), (D, units)), outputs, members)


def compare(cell, B=5, T=6, dtype=torch.float64, lengths=None, seed=0):
    g = torch.Generator().manual_seed(seed)
    cell = cell.to(dtype)
    x = torch.randn(B, T, cell.input_size, generator=g, dtype=dtype)
    h = torch.randn(B, cell.hidden_size, generator=g, dtype=dtype).requires_grad_()
    dt = 2 * torch.rand(B, T, generator=g, dtype=dtype)
    counts = None
    if lengths is not None:
        counts = torch.tensor(lengths, dtype=torch.int64)
        padding = torch.arange(T) >= counts.unsqueeze(1)
        x = x.masked_fill(padding.unsqueeze(-1), float("nan"))
        dt = dt.masked_fill(padding, float("nan"))
    leaves = x.requires_grad_(), h, dt.requires_grad_()
    wanted = [*leaves, *cell.parameters()]
    with using_backend("native"):
        y, last = WiredCfCCell.scan(cell, leaves[0], (h,), dt, counts)
        expected_y, expected_last = Cell.scan(cell, leaves[0], (h,), dt, counts)
    assert_same([y, *last], [expected_y, *expected_last], TOLERANCE[dtype])
    losses = weighing(expected_y, expected_last)
    expected = gradients_of(losses.sum(), wanted, retain_graph=True)
    mine = gradients_of(weighing(y, last).sum(), wanted)
    assert_same(mine, expected, TOLERANCE[dtype], lambda: row_by_row(losses, wanted))


def is_fused(cell) -> bool:
    with using_backend("native"):
        return cell.fused() is not None


@pytest.mark.parametrize("variant", list(VARIANTS))
@pytest.mark.parametrize("wiring", list(WIRINGS))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_wiring_and_variant_equals_the_loop(variant, wiring, dtype):
    torch.manual_seed(0)
    cell = WiredCfCCell(4, WIRINGS[wiring], VARIANTS[variant])
    assert is_fused(cell)
    compare(cell, dtype=dtype)
    compare(cell, dtype=dtype, lengths=[6, 0, 2, 5, 1])


@pytest.mark.parametrize("options", [{"gate_bias": False}, {"head_activation": "lecun_tanh"}, {"init_gain": 2.0}])
def test_options_of_the_cells_equal_the_loop(options):
    torch.manual_seed(0)
    cell = WiredCfCCell(4, AutoNCP(20, 4), **options)
    assert is_fused(cell)
    compare(cell, lengths=[6, 0, 2, 5, 1])


@settings(max_examples=25, deadline=None)
@given(
    B=st.integers(1, 10),
    T=st.integers(0, 5),
    D=st.integers(1, 5),
    units=st.integers(4, 24),
    outputs=st.integers(1, 4),
    layers=st.integers(1, 4),
    feedback=st.booleans(),
    ragged=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_any_graph_equals_the_loop(B, T, D, units, outputs, layers, feedback, ragged, dtype, seed):
    torch.manual_seed(seed)
    wiring = graph(seed, D, units, outputs, layers, feedback)
    cell = WiredCfCCell(D, wiring)
    if not feedback:
        assert is_fused(cell)
    lengths = torch.randint(0, T + 1, (B,)).tolist() if ragged else None
    compare(cell, B, T, dtype, lengths, seed)


def test_a_layer_that_reads_a_later_one_needs_the_loop():
    feeds_back = Adjacency([[0, 0, 0], [1, 0, 1], [1, 1, 0]], [[0, 0, 1]], 1, [[2], [1], [0]])
    assert not is_fused(WiredCfCCell(1, feeds_back))  # 1, in the second layer, ends on 2, in the first
    compare(WiredCfCCell(1, feeds_back))
    assert not is_fused(WiredCfCCell(3, graph(0, 3, 12, 2, 3, feedback=True)))


def test_what_watches_or_changes_a_step_needs_the_loop():
    class Louder(WiredCfCCell):
        def forward(self, x, state, dt):
            y, after = super().forward(x, state, dt)
            return 2 * y, after

    class OwnKind(CfCCell):
        def combine(self, x, h, dt):
            return 2 * super().combine(x, h, dt)

    torch.manual_seed(0)
    hooked = WiredCfCCell(3, AutoNCP(12, 3))
    seen = []
    hooked.cells[1].heads.register_forward_hook(lambda *_: None)
    hooked.register_forward_hook(lambda *_: seen.append(1))
    x, dt = torch.randn(2, 5, 3), torch.rand(2, 5)
    for cell in (hooked, Louder(3, AutoNCP(12, 3)), WiredCfCCell(3, AutoNCP(12, 3), OwnKind)):
        assert not is_fused(cell)
        with using_backend("native"):
            y, _ = cell.scan(x, cell.initial_state(x), dt)
        with using_backend("reference"):
            assert torch.equal(y, cell.scan(x, cell.initial_state(x), dt)[0])
    assert len(seen) == 10


@pytest.mark.parametrize("structure", ["hidden", "input"])
def test_a_mixed_memory_around_it_runs_the_loop(structure):
    torch.manual_seed(0)
    inner = WiredCfCCell(3 if structure == "hidden" else 12, AutoNCP(12, 3))
    cell = MixedMemory(inner, structure, input_size=3)
    x, dt, lengths = torch.randn(2, 5, 3), torch.rand(2, 5), torch.tensor([5, 2])
    with using_backend("native"):
        y, state = cell.scan(x, cell.initial_state(x), dt, lengths)
    expected, expected_state = Cell.scan(cell, x, cell.initial_state(x), dt, lengths)
    assert torch.equal(y, expected)
    assert all(torch.equal(a, b) for a, b in zip(state, expected_state, strict=True))


def layer_and_data(num_layers=2, **options):
    torch.manual_seed(0)
    layer = lt.CfC(3, wiring=AutoNCP(12, 3), num_layers=num_layers, **options)
    return layer, torch.randn(4, 6, 3), torch.rand(4, 6), torch.tensor([6, 2, 0, 4])


@pytest.mark.slow
def test_tracers_take_a_layer_whole():
    layer, x, dt, lengths = layer_and_data(num_layers=1)
    with using_backend("native"):
        expected, _ = layer(x, dt=dt, lengths=lengths)
        grads = torch.autograd.grad(expected.square().sum(), list(layer.parameters()))
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        y, _ = compiled(x, dt=dt, lengths=lengths)
        torch.testing.assert_close(y, expected)
        for mine, theirs in zip(torch.autograd.grad(y.square().sum(), list(layer.parameters())), grads, strict=True):
            torch.testing.assert_close(mine, theirs)
        program = torch.export.export(layer, (x,), {"dt": dt, "lengths": lengths})
        assert str(program.graph).count("liquidtime.cfc_scan") >= 3  # one scan for each layer of neurons
        torch.testing.assert_close(program.module()(x, dt=dt, lengths=lengths)[0], expected)


def test_recomputing_changes_nothing_and_keeps_less():
    kept, grads = [], []
    for recompute in (False, True):
        layer, x, dt, lengths = layer_and_data(recompute=recompute)
        sizes: list[int] = []
        long = torch.arange(6 * 40) % 6
        with (
            using_backend("native"),
            torch.autograd.graph.saved_tensors_hooks(lambda t, sizes=sizes: sizes.append(t.nbytes) or t, lambda t: t),
        ):
            y, _ = layer(x[:, long], dt=dt[:, long], lengths=lengths * 40)
        kept.append(sum(sizes))
        grads.append(torch.autograd.grad(y.square().sum(), list(layer.parameters())))
    assert kept[1] < 0.6 * kept[0]
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5 * float(theirs.abs().max()))


def test_transforms_see_into_the_loop():
    torch.manual_seed(0)
    cell = WiredCfCCell(3, AutoNCP(12, 3))
    x, dt = torch.randn(4, 5, 3), torch.rand(4, 5)

    def one(series, intervals):
        return cell.scan(series.unsqueeze(0), (series.new_zeros(1, 12),), intervals.unsqueeze(0))[0].squeeze(0)

    with using_backend("native"):
        mapped = torch.func.vmap(one)(x, dt)
        together, _ = cell.scan(x, cell.initial_state(x), dt)
    torch.testing.assert_close(mapped, together)
