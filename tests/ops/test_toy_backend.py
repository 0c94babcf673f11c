"""A backend for another device is one object and its registration: layers call it without any other change."""

from __future__ import annotations

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import liquidtime as lt
from liquidtime.ops import cfc_scan, using_backend
from liquidtime.ops.cfc_scan import BACKENDS, Backend, Form
from liquidtime.ops.cfc_scan.backend import Gradients, Outputs
from liquidtime.ops.native import library


class Toy(Backend):
    """Takes the gated form on tensors without numbers, and keeps seven bytes of a kind of its own for each row."""

    def __init__(self, device: str, trains: bool = True) -> None:
        self.devices, self.trains = (device,), trains
        self.calls: list[str] = []

    def refusal(self, form, inputs, training):
        if form.kind != "gated":
            return "a toy has the gated form only"
        return None if self.trains or not training else "a toy that does not train"

    def saved_like(self, form, inputs, need_ddt):
        return inputs.x.new_empty(inputs.x.shape[0], 7, dtype=torch.uint8)

    def forward(self, form, inputs, save, need_ddt, *, zeroed=False):
        self.calls.append("forward")
        x, h0 = inputs.x, inputs.h0
        saved = self.saved_like(form, inputs, need_ddt) if save else None
        return Outputs(x.new_empty(*x.shape[:2], h0.shape[1]), torch.empty_like(h0), None, saved)

    def backward(self, form, inputs, y, saved, incoming, wanted):
        self.calls.append("backward")
        assert saved.dtype is torch.uint8
        assert saved.shape == (inputs.x.shape[0], 7)
        x = torch.empty_like(inputs.x) if wanted.x else None
        return Gradients(x, torch.empty_like(inputs.h0), None, None, [torch.empty_like(w) for w in inputs.weights])


@pytest.fixture(autouse=True)
def _kernels_allowed():
    with using_backend("auto"):
        yield


def test_a_layer_calls_a_backend_of_another_device():
    layer = lt.CfC(3, 5).to("meta")
    x = torch.randn(2, 4, 3, device="meta")
    toy = Toy("meta")
    with BACKENDS.registered(toy):
        y, h = layer(x)
        assert toy.calls == ["forward"]
        assert y.device.type == "meta"
        assert (y.shape, h.shape) == ((2, 4, 5), (1, 2, 5))
        y.sum().backward()
        assert toy.calls == ["forward", "backward"]
        assert all(p.grad is not None for p in layer.parameters())
        with torch.no_grad():
            layer.step(x[:, 0])  # which has no stepper, and is a scan of one sample
        assert toy.calls == ["forward", "backward", "forward"]
        with using_backend("reference"):
            layer(x)
        assert len(toy.calls) == 3
    layer(x)
    assert len(toy.calls) == 3


def test_what_a_backend_refuses_takes_the_plain_loop():
    toy = Toy("meta", trains=False)
    x = torch.randn(2, 4, 3, device="meta")
    with BACKENDS.registered(toy):
        y, _ = lt.CfC(3, 5, "cf_s").to("meta")(x)
        assert y.shape == (2, 4, 5)
        layer = lt.CfC(3, 5).to("meta")
        layer(x)
        assert not toy.calls
        with torch.no_grad():
            layer(x)
        assert toy.calls == ["forward"]


def test_tracing_asks_the_backend_that_will_take_the_call():
    toy = Toy("cuda")
    form = Form()
    with BACKENDS.registered(toy), FakeTensorMode():
        x, h, dt = (torch.empty(*shape, device="cuda") for shape in ((2, 4, 3), (2, 5), (2, 4)))
        weights = [torch.empty(*shape, device="cuda") for shape in ((7, 8), (7,), (20, 7), (20,))]
        *_, saved = torch.ops.liquidtime.cfc_scan(x, h, None, dt, None, weights, None, form.encode(), 1.0, True, False)
        assert saved.dtype is torch.uint8
        assert saved.shape == (2, 7)
        y, _ = cfc_scan(x, (h,), dt, None, weights, form)
        assert y.device.type == "cuda"
    assert not toy.calls  # shapes are all that was asked for


def test_an_operator_without_a_backend_says_so():
    x, h, dt = (torch.empty(*shape, device="meta") for shape in ((2, 4, 3), (2, 5), (2, 4)))
    assert cfc_scan(x, (h,), dt, None, [x.new_empty(20, 8), x.new_empty(20)], Form(layers=0)) is None
    with pytest.raises(NotImplementedError, match=r"no backend runs this operation on .* meta"):
        torch.ops.liquidtime.cfc_scan(
            x,
            h,
            None,
            dt,
            None,
            [x.new_empty(20, 8), x.new_empty(20)],
            None,
            Form(layers=0).encode(),
            1.0,
            False,
            False,
        )


@pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
def test_what_the_cpu_backend_takes():
    def takes(dtype=torch.float32, other=torch.float32, products="full"):
        x, h, dt = torch.zeros(2, 3, 4, dtype=dtype), torch.zeros(2, 5, dtype=dtype), torch.zeros(2, 3, dtype=dtype)
        weights = [torch.zeros(20, 9, dtype=other), torch.zeros(20, dtype=dtype)]
        return cfc_scan(x, (h,), dt, None, weights, Form(layers=0, products=products)) is not None

    assert takes()
    assert takes(torch.float64, torch.float64)
    assert takes(products="bf16")
    assert not takes(torch.float64, torch.float64, "bf16")
    assert not takes(torch.float16, torch.float16)
    assert not takes(other=torch.float64)
    with using_backend("reference"):
        assert not takes()


@pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_traces_of_the_older_kind_see_the_plain_loop():
    torch.manual_seed(0)
    cell = lt.CfC(3, 5).cells[0]

    class Loop(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = cell

        def forward(self, x, h, dt):
            return self.cell.scan(x, (h,), dt)[0]

    first, second = ((torch.randn(2, 4, 3), torch.randn(2, 5), torch.rand(2, 4)) for _ in range(2))
    with using_backend("native"), torch.no_grad():
        traced = torch.jit.trace(Loop(), first)
        torch.testing.assert_close(traced(*second), Loop()(*second))
