"""A method or table that is replaced, on any class, is seen by every faster way; so is what a subclass overrides."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

import liquidtime as lt
from liquidtime import cells, solvers
from liquidtime.cells.activations import ACTIVATIONS, HEAD_ACTIVATIONS
from liquidtime.cells.backbone import Backbone
from liquidtime.cells.headed import HeadedCell
from liquidtime.cells.ltc import LTCDrive
from liquidtime.cells.synapses import Synapses
from liquidtime.layers import Recurrent
from liquidtime.ops import using_backend
from liquidtime.ops.native import library

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

LAYERS = {
    "cfc": lambda: lt.CfC(3, 5, backbone_units=7),
    "no_gate": lambda: lt.CfC(3, 5, "no_gate", backbone_units=7),
    "stack": lambda: lt.CfC(3, 5, backbone_units=7, num_layers=2),
    "memory": lambda: lt.CfC(3, 5, backbone_units=7, mixed_memory=True),
    "wired": lambda: lt.CfC(3, wiring=lt.wirings.FullyConnected(5)),
    "ltc": lambda: lt.LTC(3, 5),
    "lstm": lambda: Recurrent(lambda width: cells.LSTMCell(width, 5), 3),
}
PATCHES = [
    ("cfc", cells.CfCCell, "combine"),
    ("cfc", cells.CfCCell, "forward"),  # where it is not defined
    ("cfc", HeadedCell, "forward"),
    ("cfc", HeadedCell, "head_values"),
    ("cfc", cells.CfCCell, "gates"),
    ("cfc", cells.CfCCell, "initial_state"),
    ("cfc", cells.Cell, "_loop"),
    ("cfc", Backbone, "forward"),
    ("cfc", Recurrent, "_run"),
    ("cfc", nn.Linear, "forward"),
    ("cfc", nn.Module, "__call__"),
    ("no_gate", cells.CfCCell, "gates"),
    ("no_gate", cells.CfCNoGateCell, "combine"),
    ("stack", cells.CfCCell, "combine"),
    ("stack", Recurrent, "_project"),
    ("memory", cells.LSTMCell, "forward"),
    ("memory", cells.LSTMCell, "advance"),
    ("memory", cells.MixedMemory, "forward"),
    ("wired", cells.WiredCfCCell, "forward"),
    ("wired", cells.CfCCell, "combine"),
    ("ltc", cells.LTCCell, "forward"),
    ("ltc", cells.LTCCell, "read_out"),
    ("ltc", cells.LTCCell, "positive"),
    ("ltc", Synapses, "activity"),
    ("ltc", LTCDrive, "flows"),
    ("ltc", solvers.SemiImplicit, "step"),
    ("ltc", solvers.Solver, "integrate"),
    ("lstm", cells.HoistedCell, "forward"),
    ("lstm", cells.LSTMCell, "forward"),
    ("lstm", cells.LSTMCell, "project"),
    ("lstm", cells.LSTMCell, "advance"),
    ("lstm", nn.Linear, "forward"),
]


def doubled(result):
    if isinstance(result, tuple | list):
        return tuple(doubled(part) for part in result)
    return 1.25 * result + 0.125


def drawn(name):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    return layer, torch.randn(2, 4, 3), torch.rand(2, 4)


def results(layer, x, dt, backend):
    with using_backend(backend), torch.no_grad():
        without = [layer(x, dt=dt)[0], layer.step(x[:, 0], None, dt[:, 0])[0]]
    with using_backend(backend):
        return [*without, layer(x, dt=dt, lengths=[4, 2])[0].detach()]


def assert_seen(layer, x, dt, before, compare=True):
    after, expected = results(layer, x, dt, "native"), results(layer, x, dt, "reference")
    for old, new, same in zip(before, after, expected, strict=True):
        torch.testing.assert_close(new, same)
        assert not compare or not torch.allclose(old, new, atol=1e-4)


@pytest.mark.parametrize("called_before", [True, False])
@pytest.mark.parametrize(("name", "owner", "method"), PATCHES)
def test_a_patched_class_is_seen(name, owner, method, called_before, monkeypatch):
    layer, x, dt = drawn(name)
    before = results(layer, x, dt, "native")
    if not called_before:
        layer, x, dt = drawn(name)
    own = getattr(owner, method)
    monkeypatch.setattr(owner, method, lambda *given, **named: doubled(own(*given, **named)))
    one_sample = method in ("_run", "_loop", "_project")  # which a single sample passes by or not
    if one_sample:
        after, expected = results(layer, x, dt, "native"), results(layer, x, dt, "reference")
        for new, same in zip(after, expected, strict=True):
            torch.testing.assert_close(new, same)
        assert not torch.allclose(before[0], after[0], atol=1e-4)
    else:
        assert_seen(layer, x, dt, before, compare=(owner, method) != (HeadedCell, "combine"))
    monkeypatch.undo()
    for old, new in zip(before, results(layer, x, dt, "native"), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize("table", [ACTIVATIONS, HEAD_ACTIVATIONS])
def test_an_edited_table_is_seen(table, monkeypatch):
    layer, x, dt = drawn("cfc")
    before = results(layer, x, dt, "native")
    monkeypatch.setitem(table, "lecun_tanh" if table is ACTIVATIONS else "tanh", torch.sin)
    assert_seen(layer, x, dt, before)


def test_a_solver_with_a_method_of_its_own_is_seen():
    layer, x, dt = drawn("ltc")
    before = results(layer, x, dt, "native")
    layer.cells[0].solver = own = solvers.SemiImplicit()
    results(layer, x, dt, "native")
    own.step = lambda drive, v, h: v + 0.5
    assert_seen(layer, x, dt, before)
    layer.cells[0].solver = other = solvers.SemiImplicit()
    other.name = "euler"  # says what it is not
    assert_seen(layer, x, dt, before, compare=False)


class OwnCombine(cells.CfCCell):
    kind = "gated"

    def combine(self, x, h, dt):
        return 0.5 * super().combine(x, h, dt)


class OwnGates(cells.CfCCell):
    kind = "gated"

    def gates(self, x, h, dt):
        return tuple(0.5 * part for part in super().gates(x, h, dt))


class OwnHeads(cells.CfCCell):
    kind = "gated"

    def head_values(self, x, h):
        return tuple(0.5 * part for part in super().head_values(x, h))


class OwnStart(cells.CfCCell):
    kind = "gated"

    def initial_state(self, x):
        return tuple(part + 1 for part in super().initial_state(x))


class OwnReadOut(cells.LTCCell):
    def read_out(self, v):
        return v.cumsum(0)


class OwnAdvance(cells.LSTMCell):
    def advance(self, projected, state, dt):
        y, after = super().advance(projected, state, dt)
        return 2 * y, after


@pytest.mark.parametrize("kind", [OwnCombine, OwnGates, OwnHeads, OwnStart, OwnReadOut, OwnAdvance])
def test_a_subclass_with_a_method_of_its_own_runs_it(kind):
    torch.manual_seed(0)
    layer = Recurrent(lambda width: kind(width, 5), 3)
    assert_seen(layer, torch.randn(2, 4, 3), torch.rand(2, 4), [torch.zeros(())] * 3, compare=False)


def test_a_layer_with_a_method_of_its_own_runs_it():
    class Scaled(lt.CfC):
        def _run(self, x, h0, dt, lengths):
            y, state = super()._run(x, h0, dt, lengths)
            return 3 * y, state

    torch.manual_seed(0)
    mine = Scaled(3, 5)
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    assert_seen(mine, x, dt, results(mine, x, dt, "native"), compare=False)


@pytest.mark.parametrize("name", ["cfc", "memory", "lstm"])
@pytest.mark.parametrize("training", [True, False])
def test_a_parametrization_is_evaluated_as_in_the_loop(name, training):
    found = []
    for backend in ("native", "reference"):
        layer, x, dt = drawn(name)
        for part in list(layer.modules()):
            if isinstance(part, nn.Linear):
                parametrizations.spectral_norm(part)
        layer.train(training)
        with using_backend(backend):
            y = layer(x, dt=dt)[0]
            found.append([y, *torch.autograd.grad(y.sum(), list(layer.parameters())), *layer.buffers()])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_a_parametrization_that_is_cached_is_evaluated_once():
    calls = []

    class Counted(nn.Module):
        def forward(self, weight):
            calls.append(1)
            return 2 * weight

    layer, x, dt = drawn("cfc")
    parametrize.register_parametrization(layer.cells[0].heads, "weight", Counted())
    for backend in ("native", "reference"):
        calls.clear()
        with using_backend(backend), parametrize.cached():
            layer(x, dt=dt)
        assert len(calls) == 1
    calls.clear()
    with using_backend("native"):
        layer(x, dt=dt)
    assert len(calls) == 4
