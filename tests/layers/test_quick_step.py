from __future__ import annotations

import copy
import threading

import pytest
import torch
from torch.nn.utils import parametrize

import liquidtime as lt
from liquidtime.ops import using_backend
from liquidtime.ops.native import library

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

LAYERS = {
    "plain": lambda: lt.CfC(3, 5, backbone_units=7),
    "stack": lambda: lt.CfC(3, 5, num_layers=3, dropout=0.5).eval(),
    "memory": lambda: lt.CfC(3, 5, mixed_memory=True, backbone_layers=0),
    "input memory": lambda: lt.CfC(3, 5, mixed_memory="input", backbone_layers=2),
    "paper": lambda: lt.CfC(3, 5, variant="cf_s_paper", amplitude="state"),
    "double": lambda: lt.CfC(3, 5).double(),
}


class Twice(torch.nn.Module):
    def forward(self, weight):
        return 2 * weight


def steps(layer, x, dt):
    h, outputs = None, []
    for k in range(x.shape[1]):
        y, h = layer.step(x[:, k], h, dt[:, k])
        outputs.append(y)
    return torch.stack(outputs, 1), h


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("B", [1, 4])
def test_single_steps_equal_the_whole_sequence(name, B):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    dtype = next(layer.parameters()).dtype
    x, dt = torch.randn(B, 6, 3, dtype=dtype), torch.rand(B, 6, dtype=dtype)
    with torch.no_grad(), using_backend("native"):
        y, h = steps(layer, x.transpose(0, 1).contiguous().transpose(0, 1), dt.t().contiguous().t())
        assert layer._quick._stepper[1] is not None
        whole, last = layer(x, dt=dt)
    with torch.no_grad(), using_backend("reference"):
        slow, slow_last = steps(layer, x, dt)
    tolerance = 1e-12 if dtype is torch.float64 else 1e-6
    torch.testing.assert_close(y, whole, atol=tolerance, rtol=0)
    torch.testing.assert_close(y, slow, atol=tolerance, rtol=0)
    torch.testing.assert_close(h, last, atol=tolerance, rtol=0)
    torch.testing.assert_close(h, slow_last, atol=tolerance, rtol=0)


@pytest.mark.parametrize("change", ["in place", "data", "replaced", "parametrized", "optimiser", "hook", "copy"])
def test_a_change_of_the_weights_is_seen(change):
    torch.manual_seed(0)
    layer = lt.CfC(3, 5)
    x = torch.randn(2, 3)
    with using_backend("native"):
        with torch.no_grad():
            before, _ = layer.step(x)
        heads, seen = layer.cells[0].heads, []
        if change == "in place":
            with torch.no_grad():
                heads.weight.mul_(2)
        elif change == "data":
            heads.weight.data = heads.weight.data * 2
        elif change == "replaced":
            heads.weight = torch.nn.Parameter(heads.weight.detach() * 2)
        elif change == "parametrized":
            parametrize.register_parametrization(heads, "weight", Twice())
        elif change == "optimiser":
            layer.step(x)[0].sum().backward()
            torch.optim.SGD(layer.parameters(), lr=1.0).step()
        elif change == "hook":
            layer.cells[0].backbone.register_forward_hook(lambda *_: seen.append(1))
        else:
            layer = copy.deepcopy(layer)
            assert layer._quick._stepper[1] is None
            with torch.no_grad():
                layer.cells[0].heads.weight.mul_(2)
        with torch.no_grad():
            after, _ = layer.step(x)
    with torch.no_grad(), using_backend("reference"):
        expected, _ = layer.step(x)
    torch.testing.assert_close(after, expected, atol=1e-6, rtol=0)
    if change == "hook":
        assert len(seen) == 2
    else:
        assert not torch.allclose(before, after)


@pytest.mark.parametrize(
    ("x", "h", "dt", "text"),
    [
        (torch.zeros(2, 4), None, 1.0, "`x` must have shape"),
        (torch.zeros(2, 3), torch.zeros(1, 3, 5), 1.0, "`h0` must have shape"),
        (torch.zeros(2, 3), None, -1.0, "`dt` must be finite and at least 0.*negative"),
        (torch.zeros(2, 3), None, float("nan"), "NaN"),
        (torch.zeros(2, 3), None, torch.tensor([0.0, float("inf")]), "infinite .* in series 1"),
        (torch.zeros(2, 3), None, torch.zeros(3), "`dt` must have shape"),
    ],
)
def test_the_short_way_refuses_what_the_plain_one_refuses(x, h, dt, text):
    layer = lt.CfC(3, 5)
    with torch.no_grad(), using_backend("native"), pytest.raises(ValueError, match=text):
        layer.step(x, h, dt)


@pytest.mark.parametrize("parts", [1, 3])
def test_the_short_way_refuses_a_state_without_its_memory(parts):
    layer = lt.CfC(3, 5, mixed_memory=True)
    with torch.no_grad(), using_backend("native"):
        layer.step(torch.zeros(2, 3))
        with pytest.raises(ValueError, match=f"`h0` must be a tuple of 2 tensors.*got {parts} part"):
            layer.step(torch.zeros(2, 3), (torch.zeros(1, 2, 5),) * parts)


def test_the_state_that_is_given_is_left_alone_and_may_be_of_one_series():
    layer = lt.CfC(3, 5)
    x, h = torch.randn(2, 3), torch.randn(1, 2, 5)
    kept = h.clone()
    with torch.no_grad(), using_backend("native"):
        y, after = layer.step(x, h, 0.5)
        assert torch.equal(h, kept)
        assert y.data_ptr() != after.data_ptr()
        alone, state = layer.step(x[0], h[:, 0], 0.5)
    assert state.shape == (1, 5)
    torch.testing.assert_close(alone, y[0])


def test_a_state_or_interval_on_another_device_is_not_read():
    layer, x = lt.CfC(3, 5), torch.zeros(2, 3)
    with torch.no_grad(), using_backend("native"):
        layer.step(x)
        for h, dt in ((torch.zeros(1, 2, 5, device="meta"), 1.0), (None, torch.zeros(2, device="meta"))):
            with pytest.raises(RuntimeError, match="meta"):
                layer.step(x, h, dt)


def test_several_python_threads_step_one_layer():
    layer = lt.CfC(3, 16)
    x, dt = torch.randn(4, 200, 3), torch.rand(4, 200)
    with torch.no_grad(), using_backend("native"):
        expected = [steps(layer, x[k : k + 1], dt[k : k + 1])[0] for k in range(4)]
        found: dict[int, torch.Tensor] = {}

        def work(k: int) -> None:
            with torch.no_grad(), using_backend("native"):  # which holds for one thread
                found[k] = steps(layer, x[k : k + 1], dt[k : k + 1])[0]

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(torch.equal(found[k], expected[k]) for k in range(4))


def test_training_with_dropout_takes_the_plain_way():
    layer = lt.CfC(3, 5, backbone_units=64, backbone_dropout=0.5)
    with torch.no_grad(), using_backend("native"):
        layer.step(torch.ones(1, 3))
        assert layer._quick._stepper[1] is None
        layer.eval()
        still, _ = layer.step(torch.ones(1, 3))
        assert layer._quick._stepper[1] is not None
        layer.train()
        moving = [layer.step(torch.ones(1, 3))[0] for _ in range(3)]
    assert not all(torch.equal(still, y) for y in moving)


@pytest.mark.parametrize("dt", [True, "1", torch.ones(1).numpy()])
def test_an_interval_that_is_no_number_is_what_it_is_to_the_plain_way(dt):
    layer, x = lt.CfC(3, 5), torch.zeros(2, 3)
    said = []
    for backend in ("reference", "native"):
        with torch.no_grad(), using_backend(backend):
            layer.step(x)
            try:
                said.append(layer.step(x, None, dt)[0].tolist())
            except (TypeError, ValueError) as error:
                said.append((type(error), str(error)))
    assert said[0] == said[1]


def test_a_memory_goes_the_short_way():
    layer, x = lt.CfC(3, 5, mixed_memory=True), torch.zeros(2, 3)
    with torch.no_grad(), using_backend("native"):
        _, state = layer.step(x)
        assert layer._quick.step(layer, x, state, 1.0) is not None
        assert layer._quick.step(layer, x, state[0], 1.0) is None
