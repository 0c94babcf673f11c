"""Layers with bf16 products: both backends, every way of calling them, what they lose, and where they are refused."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path

import pytest
import torch
from torch import nn

import liquidtime as lt
from benchmarks.precision import precision
from benchmarks.side_by_side.shape import PHYSIONET, WALKER2D, XOR
from liquidtime.cells import CfCCell, MixedMemory
from liquidtime.ops import using_backend
from liquidtime.ops.native import library
from liquidtime.ops.products import rounded

needs_kernel = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

LAYERS = {
    "cfc": {},
    "no_gate": {"variant": "no_gate", "backbone_layers": 2},
    "cf_s": {"variant": "cf_s"},
    "cf_s_paper": {"variant": "cf_s_paper", "backbone_layers": 0},
    "memory": {"mixed_memory": True},
    "memory on the input": {"mixed_memory": "input"},
    "both directions, two layers": {"bidirectional": True, "num_layers": 2},
    "wired": {"wiring": lt.wirings.AutoNCP(8, 3, seed=1)},
    "wired, memory": {"wiring": lt.wirings.AutoNCP(8, 3, seed=1), "mixed_memory": True},
}


def make(name: str, products: str = "bf16", seed: int = 0) -> lt.CfC:
    torch.manual_seed(seed)
    options = LAYERS[name]
    width = {} if "wiring" in options else {"hidden_size": 5, "backbone_units": 7}
    return lt.CfC(3, products=products, **(width | options))


def batch(seed: int = 0) -> dict:
    g = torch.Generator().manual_seed(seed)
    x, dt = torch.randn(4, 5, 3, generator=g), torch.rand(4, 5, generator=g)
    return {"x": x, "dt": dt, "lengths": torch.tensor([5, 0, 2, 4])}


def results(layer: lt.CfC, given: dict) -> list[torch.Tensor]:
    y, h = layer(**given)
    grads = torch.autograd.grad(y.square().sum(), list(layer.parameters()))
    return [y.detach(), *(part.detach() for part in (h if isinstance(h, tuple) else (h,))), *grads]


def off(mine: list[torch.Tensor], theirs: list[torch.Tensor]) -> float:
    pairs = zip(mine, theirs, strict=True)
    return max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-3)) for a, b in pairs)


@needs_kernel
@pytest.mark.parametrize("name", list(LAYERS))
def test_both_backends_give_the_same(name):
    """Most draws to float32's tolerance; a draw in which an operand rounds to its other neighbour within bf16's own."""
    found = []
    for seed in range(3):
        layer, given = make(name, seed=seed), batch(seed)
        with using_backend("native"):
            mine = results(layer, given)
        with using_backend("reference"):
            found.append(off(mine, results(layer, given)))
    assert max(found) < 2.0**-5
    assert sum(each < 1e-5 for each in found) >= 2


@pytest.mark.parametrize("name", list(LAYERS))
def test_the_numbers_are_rounded_and_near_float32(name):
    layer, given = make(name), batch()
    full = make(name, "full")
    full.load_state_dict(layer.state_dict())
    y, expected = layer(**given)[0], full(**given)[0]
    assert 1e-5 < (y - expected).abs().max() < 0.02
    assert y.dtype is torch.float32


@pytest.mark.parametrize("name", [name for name in LAYERS if "directions" not in name])
@pytest.mark.parametrize("grad", [False, True])
def test_single_steps_equal_the_sequence(name, grad):
    layer, given = make(name), batch()
    with torch.set_grad_enabled(grad):
        expected, _ = layer(given["x"], dt=given["dt"])
        state = None
        for k in range(5):
            y, state = layer.step(given["x"][:, k], state, given["dt"][:, k])
            torch.testing.assert_close(y, expected[:, k], rtol=0, atol=2.0**-7)


def test_one_step_by_hand():
    cell = CfCCell(2, 1, backbone_layers=0, products="bf16")
    x, h, dt = torch.tensor([[0.7001, -1.2345]]), torch.tensor([[0.3333]]), torch.tensor([0.61])
    z, W = rounded(torch.cat([x, h], 1)).double(), rounded(cell.heads.weight).double()
    g1, g2, a, c = (z @ W.T)[0]
    s = torch.sigmoid(a * dt.double() + c)
    expected = (1 - s) * torch.tanh(g1) + s * torch.tanh(g2)
    torch.testing.assert_close(cell(x, (h,), dt)[0].double().flatten(), expected.flatten(), rtol=1e-6, atol=1e-6)


def test_autocast_changes_nothing():
    layer, given = make("memory"), batch()
    with using_backend("reference"):
        expected = results(layer, given)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y, _ = layer(**given)
    found = [y.detach(), *torch.autograd.grad(y.square().sum(), list(layer.parameters()))]
    for a, b in zip(found, [expected[0], *expected[3:]], strict=True):
        assert torch.equal(a, b)


def test_weights_are_those_of_the_same_layer_in_full():
    layer, full = make("memory"), make("memory", "full")
    assert all(torch.equal(a, b) for a, b in zip(layer.parameters(), full.parameters(), strict=True))
    assert list(layer.state_dict()) == list(full.state_dict())
    assert "Bf16Linear(in_features=8, out_features=7, bias=True)" in repr(layer)
    assert "Bf16Linear" not in repr(full)
    assert torch.equal(copy.deepcopy(layer)(**batch())[0], layer(**batch())[0])


@pytest.mark.parametrize("backend", [pytest.param("native", marks=needs_kernel), "reference"])
def test_other_types_are_refused(backend):
    layer = make("cfc").double()
    x = torch.randn(2, 3, 3, dtype=torch.float64)
    with using_backend(backend):
        for run in (lambda: layer(x, dt=torch.ones_like(x[..., 0])), lambda: layer(x), lambda: layer.step(x[:, 0])):
            with (
                torch.no_grad(),
                pytest.raises(TypeError, match=r"needs weights in float32; got torch\.float64"),
            ):
                run()
        with pytest.raises(TypeError, match=r'`products` is "bf16".*or make it with products="full"'):
            layer(x)


def test_what_has_no_such_products_refuses_the_option():
    with pytest.raises(ValueError, match="`products` must be one of 'full', 'bf16'; got 'fp16'"):
        lt.CfC(2, 3, products="fp16")
    with pytest.raises(ValueError, match="`products` must be one of 'full', 'bf16'"):
        lt.cells.LSTMCell(2, 3, products="half")
    with pytest.raises(TypeError, match="`products` is not an argument of LTC"):
        lt.LTC(2, 3, products="bf16")
    assert MixedMemory(lt.cells.LTCCell(2, 3)).products == "full"


@needs_kernel
def test_a_map_of_another_kind_takes_the_plain_loop():
    layer = make("cfc")
    with using_backend("native"):
        assert layer.cells[0].fused() is not None
        layer.cells[0].backbone.layers[0] = nn.Linear(8, 7)
        assert layer.cells[0].fused() is None


@pytest.mark.slow
@needs_kernel
def test_compile_and_export():
    layer, given = make("cfc"), batch()  # that a tracer follows a memory too, tests/ops/test_hostile_inputs.py shows
    with using_backend("native"):
        expected = results(layer, given)
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        assert off(results(compiled, given), expected) < 1e-6
        program = torch.export.export(layer, (), given)
        assert torch.equal(program.module()(**given)[0], expected[0])


@needs_kernel
@pytest.mark.parametrize("shape", [XOR, WALKER2D, PHYSIONET], ids=str)
def test_what_is_lost_at_the_papers_sizes(shape):
    """The bounds of the figures in ops/cfc_scan/README.md, from the first series of each batch."""
    shape = dataclasses.replace(shape, B=16)
    with using_backend("native"):
        for loss in precision(shape).values():
            assert 1e-3 < loss.rms < 0.01
            assert loss.largest < 0.015
        for loss in precision(shape, "full").values():
            assert loss.largest < 2e-5


def test_the_figures_in_the_readme_are_those_that_were_measured():
    root = Path(__file__).parents[2]
    page = (root / "src/liquidtime/ops/cfc_scan/README.md").read_text()
    found = json.loads((root / "results/bench/precision.json").read_text())
    assert list(found) == ["xor", "walker2d", "physionet"]
    for kinds in found.values():
        for kind, losses in kinds.items():
            cells = [f"{loss['largest']:.1e}, {loss['rms']:.1e}" for loss in losses.values()]
            assert f"| {kind} | {' | '.join(cells)} |" in page


def test_it_learns_what_full_products_learn():
    """Values weighed by their intervals, added up: both explain 99.9 % of the variance, from about none."""
    g = torch.Generator().manual_seed(0)
    x, dt = torch.randn(128, 6, 2, generator=g), torch.rand(128, 6, generator=g) * 2
    target = (x[..., 0] * dt).sum(1)
    unexplained = {}
    for products in ("full", "bf16"):
        torch.manual_seed(1)
        layer, read = lt.CfC(2, 16, backbone_units=24, products=products), nn.Linear(16, 1)
        optimizer = torch.optim.Adam([*layer.parameters(), *read.parameters()], lr=0.01)
        for _ in range(150):
            loss = (read(layer(x, dt=dt)[0][:, -1])[:, 0] - target).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        unexplained[products] = loss.item() / float(target.var())
    assert max(unexplained.values()) < 1e-3
    assert unexplained["full"] != unexplained["bf16"]
