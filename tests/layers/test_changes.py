"""Whatever is changed after a first call is seen by the next one, by scans and single samples alike."""

from __future__ import annotations

import copy
import sys
import threading

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize, prune

import liquidtime as lt
from liquidtime.ops import using_backend
from liquidtime.ops.native import library

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")


def cfc(**options) -> lt.CfC:
    torch.manual_seed(0)
    return lt.CfC(3, 5, backbone_units=7, backbone_layers=2, **options)


def other(**options) -> lt.CfC:
    torch.manual_seed(1)
    return lt.CfC(3, 5, backbone_units=7, backbone_layers=2, **options)


def ema(layer):
    with torch.no_grad():
        for mine, theirs in zip(layer.parameters(), other().parameters(), strict=True):
            mine.data.mul_(0.5).add_(0.5 * theirs.data)


def by_numpy(layer):
    layer.cells[0].heads.weight.detach().numpy()[:] *= 2


def replace_linear(layer):
    cell = layer.cells[0]
    cell.heads = nn.Linear(7, 20)


def smaller_backbone(layer):
    backbone = layer.cells[0].backbone
    backbone.layers = nn.ModuleList([backbone.layers[0]])


def neg_view(layer):
    weight = layer.cells[0].heads.weight
    weight.data = torch._neg_view(weight.data)


def transpose(layer):
    weight = layer.cells[0].backbone.layers[1].weight
    weight.data = weight.data.t()


def patch(owner, name):
    own = getattr(owner, name)
    setattr(owner, name, lambda *given: _doubled(own(*given)))


def _doubled(result):
    if isinstance(result, tuple):
        return tuple(_doubled(part) for part in result)
    return 2 * result


def set_to(path, value):
    def change(layer):
        *owners, name = path.split(".")
        owner = layer.cells[0]
        for part in owners:
            owner = getattr(owner, part)
        setattr(owner, name, value)

    return change


def mask(layer):
    cell = layer.cells[0]
    cell.mask = torch.rand_like(cell.heads.weight)


def assign(layer):
    layer.load_state_dict(other().state_dict(), assign=True)


class Twice(nn.Module):
    def forward(self, weight):
        return 2 * weight


CHANGES = {
    "head activation": set_to("head_activation", "lecun_tanh"),
    "backbone activation": set_to("backbone.activation", "relu"),
    "gate bias": set_to("gate_bias", False),
    "mask": mask,
    "cells of another": lambda layer: setattr(layer, "cells", other().cells),
    "another cell": lambda layer: layer.cells.__setitem__(0, other().cells[0]),
    "another map": replace_linear,
    "other layers": smaller_backbone,
    "another backbone": lambda layer: setattr(layer.cells[0], "backbone", other().cells[0].backbone),
    "forward of the cell": lambda layer: patch(layer.cells[0], "forward"),
    "combine": lambda layer: patch(layer.cells[0], "combine"),
    "gates": lambda layer: patch(layer.cells[0], "gates"),
    "forward of the backbone": lambda layer: patch(layer.cells[0].backbone, "forward"),
    "forward of a map": lambda layer: patch(layer.cells[0].backbone.layers[1], "forward"),
    "data in place": lambda layer: layer.cells[0].heads.weight.data.mul_(2),
    "data": lambda layer: setattr(layer.cells[0].heads.weight, "data", layer.cells[0].heads.weight.data * 2),
    "negative data": neg_view,
    "data of other strides": transpose,
    "average": ema,
    "numpy": by_numpy,
    "assign": assign,
    "prune": lambda layer: prune.l1_unstructured(layer.cells[0].backbone.layers[0], "weight", 0.5),
    "parametrization": lambda layer: parametrize.register_parametrization(
        layer.cells[0].backbone.layers[0], "weight", Twice()
    ),
    "hook": lambda layer: layer.cells[0].register_forward_hook(lambda m, i, o: _doubled(o)),
}


def results(layer, x, h, dt, backend):
    with using_backend(backend), torch.no_grad():
        return [layer(x, h, dt=dt)[0], layer.step(x[:, 0].contiguous(), h, dt[:, 0].contiguous())[0]]


@pytest.mark.parametrize("change", list(CHANGES))
def test_a_change_is_seen(change):
    layer = cfc()
    x, h, dt = torch.randn(4, 6, 3), torch.randn(1, 4, 5), torch.rand(4, 6)
    before = results(layer, x, h, dt, "native")
    CHANGES[change](layer)
    after = results(layer, x, h, dt, "native")
    for old, new, expected in zip(before, after, results(layer, x, h, dt, "reference"), strict=True):
        torch.testing.assert_close(new, expected, atol=1e-5, rtol=1e-5)
        assert not torch.allclose(old, new, atol=1e-4)


MEMORY_CHANGES = {
    "forget bias": lambda layer: setattr(layer.cells[0].lstm, "forget_bias", -2.0),
    "forget bias as a tensor": lambda layer: setattr(layer.cells[0].lstm, "forget_bias", torch.tensor(-2.0)),
    "structure": lambda layer: setattr(layer.cells[0], "structure", "input"),
    "advance": lambda layer: patch(layer.cells[0].lstm, "advance"),
    "recurrent bias": lambda layer: setattr(layer.cells[0].lstm, "recurrent_map", nn.Linear(5, 20)),
    "data": lambda layer: layer.cells[0].lstm.input_map.weight.data.mul_(3),
    "inner": lambda layer: setattr(layer.cells[0].cell, "head_activation", "lecun_tanh"),
}


@pytest.mark.parametrize("change", list(MEMORY_CHANGES))
def test_a_change_of_a_memory_is_seen(change):
    torch.manual_seed(0)
    layer = lt.CfC(5, 5, backbone_units=7, mixed_memory=True)
    x, h, dt = torch.randn(4, 6, 5), (torch.randn(1, 4, 5), torch.randn(1, 4, 5)), torch.rand(4, 6)
    before = results(layer, x, h, dt, "native")
    MEMORY_CHANGES[change](layer)
    after = results(layer, x, h, dt, "native")
    for old, new, expected in zip(before, after, results(layer, x, h, dt, "reference"), strict=True):
        torch.testing.assert_close(new, expected, atol=1e-5, rtol=1e-5)
        assert not torch.allclose(old, new, atol=1e-4)


@pytest.mark.parametrize("what", ["removed", "added", "weakened"])
def test_a_change_of_the_synapses_of_a_liquid_layer_is_seen(what):
    torch.manual_seed(0)
    layer = lt.LTC(3, wiring=lt.wirings.AutoNCP(12, 3))
    x, h, dt = torch.randn(4, 6, 3), torch.rand(1, 4, 12), torch.rand(4, 6)
    before = results(layer, x, h, dt, "native")
    masks = layer.cells[0].recurrent.mask
    with torch.no_grad():
        if what == "added":
            masks.fill_(1.0)
        else:
            masks.mul_(0.0 if what == "removed" else 0.25)
    after = results(layer, x, h, dt, "native")
    for old, new, expected in zip(before, after, results(layer, x, h, dt, "reference"), strict=True):
        torch.testing.assert_close(new, expected, atol=1e-5, rtol=1e-5)
        assert not torch.allclose(old, new, atol=1e-4)


def test_dropout_that_is_raised_to_one_drops_all():
    layer = cfc(backbone_dropout=0.5)
    x, h, dt = torch.randn(4, 6, 3), torch.randn(1, 4, 5), torch.rand(4, 6)
    results(layer, x, h, dt, "native")
    layer.cells[0].backbone.dropout.p = 1.0
    for new, expected in zip(*(results(layer, x, h, dt, name) for name in ("native", "reference")), strict=True):
        torch.testing.assert_close(new, expected)


def test_another_dropout_takes_the_plain_loop():
    layer = cfc(backbone_dropout=0.5)
    layer.cells[0].backbone.dropout = nn.Identity()
    x, h, dt = torch.randn(4, 6, 3), torch.randn(1, 4, 5), torch.rand(4, 6)
    for new, expected in zip(*(results(layer, x, h, dt, name) for name in ("native", "reference")), strict=True):
        torch.testing.assert_close(new, expected)


def test_a_shallow_copy_has_its_own_results():
    layer = cfc()
    x, h, dt = torch.randn(4, 6, 3), torch.randn(1, 4, 5), torch.rand(4, 6)
    results(layer, x, h, dt, "native")
    twin = copy.copy(layer)
    twin._modules = dict(layer._modules)
    twin.cells = other().cells
    for changed in (twin, layer):
        for new, expected in zip(*(results(changed, x, h, dt, name) for name in ("native", "reference")), strict=True):
            torch.testing.assert_close(new, expected)


def test_strided_samples_take_the_short_way(monkeypatch):
    layer = cfc()
    x, h, dt = torch.randn(4, 6, 3), torch.randn(4, 2, 5).transpose(0, 1)[:1], torch.rand(4, 6)
    with using_backend("native"), torch.no_grad():
        layer.step(x[:, 0])
        expected = layer.step(x[:, 1].contiguous(), h.contiguous(), dt[:, 1].contiguous())[0]
        monkeypatch.setattr("liquidtime.layers.recurrent._one_sample", None)
        assert torch.equal(layer.step(x[:, 1], h, dt[:, 1])[0], expected)
        for scalar in (1, 1.0, torch.tensor(1), torch.tensor(1.0), torch.ones(4, 1), torch.ones(4).double(), None):
            layer.step(x[:, 1], h, scalar)


def test_numbers_of_numpy_are_intervals():
    import numpy as np

    layer, x = cfc(), torch.randn(4, 3)
    for backend in ("native", "reference"):
        with using_backend(backend), torch.no_grad():
            expected = layer.step(x, None, 0.5)[0]
            for number in (np.float32(0.5), np.float64(0.5), np.array(0.5)[()]):
                assert torch.equal(layer.step(x, None, number)[0], expected)
            assert torch.equal(layer.step(x, None, np.int64(2))[0], layer.step(x, None, 2)[0])


@pytest.mark.parametrize("make", [cfc, lambda: cfc(mixed_memory=True), lambda: lt.LTC(3, 5)])
def test_a_layer_made_under_inference_mode_runs(make):
    with torch.inference_mode():
        layer = make()
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    with using_backend("native"), torch.no_grad():
        whole, _ = layer(x, dt=dt)
        y, h = layer.step(x[:, 0], None, dt[:, 0])
        for k in range(1, 4):
            y, h = layer.step(x[:, k], h, dt[:, k])
    torch.testing.assert_close(y, whole[:, -1])


def test_first_calls_from_several_threads():
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    failures: list[BaseException] = []

    def work(layer, barrier, expected) -> None:
        barrier.wait()
        try:
            with torch.no_grad():
                for _ in range(3):
                    torch.testing.assert_close(layer(x, dt=dt)[0], expected)
                    torch.testing.assert_close(layer.step(x[:, 0], None, dt[:, 0])[0], expected[:, 0])
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with using_backend("native"):
            for _ in range(25):
                layer = cfc()
                with torch.no_grad():
                    expected = copy.deepcopy(layer)(x, dt=dt)[0]
                barrier = threading.Barrier(8)
                threads = [threading.Thread(target=work, args=(layer, barrier, expected)) for _ in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures


MAKE_ANEW = {
    "prune": lambda module: prune.random_unstructured(module, "weight", 0.5),
    "weight norm": torch.nn.utils.weight_norm,
    "pre-hook": lambda module: module.register_forward_pre_hook(lambda m, given: (2 * given[0],)),
    "hook": lambda module: module.register_forward_hook(lambda m, given, done: 2 * done),
    "parametrization": lambda module: parametrize.register_parametrization(module, "weight", Twice()),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("change", list(MAKE_ANEW))
@pytest.mark.parametrize("backend", ["native", "reference"])
def test_heads_are_called_so_that_what_makes_their_weight_runs_at_every_step(change, memory, backend):
    layer, (x, dt) = lt.CfC(3, 5, backbone_units=7, mixed_memory=memory), (torch.randn(2, 4, 3), torch.rand(2, 4))
    cell = layer.cells[0].cell if memory else layer.cells[0]
    with using_backend(backend):
        before = layer(x, dt=dt)[0]
        MAKE_ANEW[change](cell.heads)
        for _ in range(3):
            layer(x, dt=dt)[0].sum().backward()
        if change == "weight norm":
            with torch.no_grad():
                cell.heads.weight_g.mul_(2)
        with torch.no_grad():
            after = layer(x, dt=dt)[0]
        if change != "prune":
            with torch.no_grad():
                plain = lt.CfC(3, 5, backbone_units=7, mixed_memory=memory)
                kept = {name: value for name, value in layer.state_dict().items() if "heads" not in name}
                plain.load_state_dict(kept, strict=False)
                own = plain.cells[0].cell.heads if memory else plain.cells[0].heads
                own.weight.copy_(cell.heads.weight)
                own.bias.copy_(cell.heads.bias)
                if "hook" in change:
                    own.weight.mul_(2)
                if change == "hook":
                    own.bias.mul_(2)
                torch.testing.assert_close(after, plain(x, dt=dt)[0])
    assert not torch.allclose(before, after, atol=1e-4)


def test_what_makes_the_weight_of_wired_heads_at_every_call_is_refused():
    layer, (x, dt) = lt.CfC(3, wiring=lt.wirings.FullyConnected(5)), (torch.randn(2, 4, 3), torch.rand(2, 4))
    layer(x, dt=dt)
    for part in layer.modules():
        if type(part) is nn.Linear:
            prune.random_unstructured(part, "weight", 0.5)
    with pytest.raises(NotImplementedError, match="the heads of a wired cell are not called"):
        layer(x, dt=dt)
    for part in layer.modules():
        if prune.is_pruned(part) and "weight_mask" in part._buffers:
            prune.remove(part, "weight")
    for _ in range(2):
        layer(x, dt=dt)[0].sum().backward()
