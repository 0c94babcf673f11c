from __future__ import annotations

import copy

import pytest
import torch

import liquidtime as lt
from liquidtime.layers.quick import Quick
from liquidtime.ops import using_backend
from liquidtime.ops.native import library

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")


@pytest.fixture
def taken(monkeypatch):
    """Whether each call of a layer went the short way."""
    found: list[bool] = []
    scan = Quick.scan

    def watched(*args):
        done = scan(*args)
        found.append(done is not None)
        return done

    monkeypatch.setattr(Quick, "scan", watched)
    return found


def results(layer, x, h0, dt):
    """Outputs, last state and every gradient of a weighing of both."""
    layer.zero_grad()
    y, h = layer(x, h0, dt=dt)
    ((y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).reshape(y.shape)).sum() + h.square().sum()).backward()
    grads = [w.grad.clone() for w in layer.parameters()]
    for part in (x, h0, dt):
        if part is not None and part.requires_grad:
            grads.append(part.grad.clone())
            part.grad = None
    return [y.detach(), h.detach(), *grads]


@pytest.mark.parametrize("variant", ["cfc", "no_gate"])
@pytest.mark.parametrize("start", ["zero", "given"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_short_way_equals_the_plain_loop(variant, start, dtype, taken):
    torch.manual_seed(0)
    layer = lt.CfC(3, 5, variant=variant, backbone_units=7, backbone_layers=2).to(dtype)
    x, dt = torch.randn(4, 6, 3, dtype=dtype, requires_grad=True), torch.rand(4, 6, dtype=dtype, requires_grad=True)
    h0 = torch.randn(1, 4, 5, dtype=dtype, requires_grad=True) if start == "given" else None
    with using_backend("native"):
        mine = results(layer, x, h0, dt)
        assert taken == [True]
        with torch.no_grad():
            without, _ = layer(x, h0, dt=dt)
    assert torch.equal(without, mine[0])
    with using_backend("reference"):
        expected = results(layer, x, h0, dt)
    assert taken == [True, True, False]
    for a, b in zip(mine, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12 if dtype is torch.float64 else 1e-5, rtol=1e-5)


def test_what_is_not_plain_takes_the_other_way(taken):
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    layers = [
        lt.CfC(3, 5, num_layers=2),
        lt.CfC(3, 5, bidirectional=True),
        lt.CfC(3, 5, proj_size=2),
        lt.CfC(3, 5, mixed_memory=True),
        lt.CfC(3, 5, backbone_dropout=0.5),
        lt.CfC(3, 5, variant="cf_s"),
        lt.CfC(3, 5).double(),
    ]
    with using_backend("native"):
        for layer in layers[:-1]:
            layer(x, dt=dt)
        assert not any(taken)
        with pytest.raises(RuntimeError):
            layers[-1](x, dt=dt)
        layer = lt.CfC(3, 5)
        taken.clear()
        layer(x)
        layer(x, dt=0.5)
        layer(x, dt=dt, lengths=[4, 2])
        torch.func.vmap(lambda x, dt: layer(x, dt=dt)[0])(x.unsqueeze(0), dt.unsqueeze(0))
        assert not any(taken)


@pytest.mark.parametrize("change", ["replaced", "type", "hook", "copy", "optimiser"])
def test_a_change_of_the_layer_is_seen(change):
    torch.manual_seed(0)
    layer = lt.CfC(3, 5)
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    seen: list[int] = []
    with using_backend("native"):
        before, _ = layer(x, dt=dt)
        heads = layer.cells[0].heads
        if change == "replaced":
            heads.weight = torch.nn.Parameter(heads.weight.detach() * 2)
        elif change == "type":
            layer.double()
            x, dt = x.double(), dt.double()
        elif change == "hook":
            layer.cells[0].backbone.register_forward_hook(lambda *_: seen.append(1))
        elif change == "copy":
            layer = copy.deepcopy(layer)
            with torch.no_grad():
                layer.cells[0].heads.weight.mul_(2)
        else:
            before.sum().backward()
            torch.optim.SGD(layer.parameters(), lr=1.0).step()
        after, _ = layer(x, dt=dt)
    assert len(seen) == (4 if change == "hook" else 0)
    with using_backend("reference"):
        expected, _ = layer(x, dt=dt)
    torch.testing.assert_close(after, expected, atol=1e-6, rtol=0)
    assert torch.allclose(before, after.to(before.dtype)) == (change in ("type", "hook"))


@pytest.mark.parametrize(("value", "text"), [(-1.0, "negative"), (float("nan"), "NaN"), (float("inf"), "infinite")])
@pytest.mark.parametrize("grad", [False, True])
def test_bad_intervals_are_refused_by_name(value, text, grad):
    layer, dt = lt.CfC(3, 5), torch.rand(2, 4)
    dt[1, 2] = value
    with (
        using_backend("native"),
        torch.set_grad_enabled(grad),
        pytest.raises(ValueError, match=rf"{text} .* series 1 at position 2"),
    ):
        layer(torch.zeros(2, 4, 3), dt=dt)


@pytest.mark.parametrize(
    ("x", "h0", "text"),
    [
        (torch.zeros(2, 4, 2), None, "`x` must have shape"),
        (torch.zeros(2, 4, 3), torch.zeros(1, 3, 5), "`h0` must have shape"),
        (torch.zeros(2, 5, 3), None, "`dt` must have shape"),
    ],
)
def test_wrong_shapes_are_refused_by_name(x, h0, text):
    with using_backend("native"), pytest.raises(ValueError, match=text):
        lt.CfC(3, 5)(x, h0, dt=torch.zeros(2, 4))


def test_a_layer_that_nobody_changes_is_looked_at_in_full_once():
    layer, x, dt = lt.CfC(3, 5), torch.randn(2, 4, 3), torch.rand(2, 4)
    plans = []
    with torch.no_grad(), using_backend("native"):
        for _ in range(3):
            layer(x, dt=dt)
            layer.step(x[:, 0], None, dt[:, 0])
            plans.append(layer._quick._plan)
    assert plans[0] is not None
    assert all(plan is plans[0] for plan in plans)
