"""Tensors that were freed, resized or are of another kind give an exception or a result, and never a signal."""

from __future__ import annotations

import pytest

import processes
from liquidtime.ops.native import library

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

PREAMBLE = """
import warnings
import torch
import liquidtime as lt
from liquidtime import cells
from liquidtime.layers import Recurrent
warnings.simplefilter("ignore")
torch.set_num_threads(1)
LAYERS = {
    "cfc": lambda: lt.CfC(3, 5),
    "cf_s": lambda: lt.CfC(3, 5, "cf_s"),
    "memory": lambda: lt.CfC(3, 5, mixed_memory=True),
    "stack": lambda: lt.CfC(3, 5, num_layers=2, proj_size=2),
    "both": lambda: lt.CfC(3, 5, bidirectional=True),
    "wired": lambda: lt.CfC(3, wiring=lt.wirings.AutoNCP(12, 3)),
    "ltc": lambda: lt.LTC(3, 5),
    "lstm": lambda: Recurrent(lambda width: cells.LSTMCell(width, 5), 3),
}
SIZES = (0, 4)

def inputs(layer):
    cell = layer.cells[0]
    parts = tuple(torch.randn(len(layer.cells), 2, size) for size in cell.state_sizes)
    return torch.randn(2, 40, 3), parts[0] if len(parts) == 1 else parts, torch.rand(2, 40)

def calls(layer, x, h, dt):
    yield lambda: layer(x, h, dt=dt)
    yield lambda: layer(x, h, dt=dt, lengths=[40, 2])
    yield lambda: layer.cells[0].scan(x, tuple(p[0] for p in (h if isinstance(h, tuple) else (h,))), dt)
    if not layer.bidirectional:
        yield lambda: layer.step(x[:, 0], h, dt[:, 0])
        yield lambda: layer.step(x[:, 0], h, dt[:, 0].double())

def attempt(what, call, must_refuse):
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            try:
                call()
            except Exception as error:
                continue
            assert not must_refuse, what

def tensors_of(layer):
    return {**dict(layer.named_parameters()), **dict(layer.named_buffers())}
"""

FREED_INPUTS = """
for name, make in LAYERS.items():
    for size in SIZES:
        for which in ("x", "h", "dt"):
            layer = make()
            x, h, dt = inputs(layer)
            for call in calls(layer, x, h, dt):
                with torch.no_grad():
                    call()
            first = {"x": x, "h": h[0] if isinstance(h, tuple) else h, "dt": dt}[which]
            every = list(calls(layer, x, h, dt))
            first.untyped_storage().resize_(size)
            for index, call in enumerate(every):
                attempt((name, which, size, index), call, True)
"""

FREED_PARTS = """
for name, make in LAYERS.items():
    for part in tensors_of(make()):
        layer = make()
        x, h, dt = inputs(layer)
        with torch.no_grad():
            for call in calls(layer, x, h, dt):
                call()
        tensor = tensors_of(layer)[part]
        if tensor.numel() == 0:
            continue
        tensor.untyped_storage().resize_(0)
        every = list(calls(layer, x, h, dt))
        for index, call in enumerate(every):
            attempt((name, part, index), call, index < 2)
"""

FREED_BEFORE_GRADIENTS = """
from liquidtime.ops import using_backend

for name, make in LAYERS.items():
    for backend in ("native", "reference"):
        for part in ("x", "h", "dt", "gradient", *tensors_of(make())):
            for kind in ("y", "state", "step"):
                layer = make()
                if kind == "step" and layer.bidirectional:
                    continue
                x, h, dt = inputs(layer)
                x, dt = x[:, :3].clone(), dt[:, :3].clone()
                x.requires_grad_()
                with using_backend(backend):
                    y, state = layer.step(x[:, 0], h, dt[:, 0]) if kind == "step" else layer(x, h, dt=dt)
                first = h[0] if isinstance(h, tuple) else h
                output = y if kind != "state" else state[0] if isinstance(state, tuple) else state
                gradient = torch.ones_like(output)
                tensors = {"x": x, "h": first, "dt": dt, "gradient": gradient, **tensors_of(layer)}
                tensors[part].untyped_storage().resize_(0)
                attempt((name, backend, part, kind), lambda: output.backward(gradient), part == "gradient")
"""

OTHER_SHAPES = """
for name, make in LAYERS.items():
    for part in tensors_of(make()):
        for change in (lambda t: t[:1].clone(), lambda t: t.new_zeros(()), lambda t: t.new_zeros(0),
                       lambda t: torch.cat([t, t]), lambda t: t.t() if t.dim() == 2 else t.unsqueeze(0)):
            layer = make()
            x, h, dt = inputs(layer)
            with torch.no_grad():
                for call in calls(layer, x, h, dt):
                    call()
            y = layer(x, h, dt=dt)[0]
            tensor = tensors_of(layer)[part]
            tensor.data = change(tensor.data)
            for call in calls(layer, x, h, dt):
                attempt((name, part), call, False)
            attempt((name, part), lambda: y.sum().backward(), False)
"""

OTHER_KINDS = """
def quantised(t):
    return torch.quantize_per_tensor(t, 0.1, 0, torch.qint8)

KINDS = {
    "meta": lambda t: t.to("meta"),
    "sparse": lambda t: t.to_sparse(),
    "csr": lambda t: t[0].to_sparse_csr() if t.dim() == 3 else t.to_sparse_csr(),
    "quantised": quantised,
    "nested": lambda t: torch.nested.nested_tensor(list(t)),
    "jagged": lambda t: torch.nested.nested_tensor(list(t), layout=torch.jagged),
    "complex": lambda t: t.to(torch.complex64),
    "int": lambda t: t.to(torch.int64),
    "bool": lambda t: t > 0,
    "half": lambda t: t.half(),
    "expanded": lambda t: t[:1].expand_as(t),
    "overlapping": lambda t: torch.rand(200).as_strided(t.shape, (1,) * t.dim()),
    "empty": lambda t: t[:0],
    "no width": lambda t: t[..., :0],
    "mkldnn": lambda t: t.to_mkldnn(),
}
for name, make in LAYERS.items():
    layer = make()
    x, h, dt = inputs(layer)
    first = h[0] if isinstance(h, tuple) else h
    for kind, change in KINDS.items():
        for which in ("x", "h", "dt"):
            try:
                other = change({"x": x, "h": first, "dt": dt}[which])
            except Exception:
                continue
            given = {"x": x, "h": h, "dt": dt}
            given[which] = (other, *h[1:]) if which == "h" and isinstance(h, tuple) else other
            try:
                every = list(calls(layer, *given.values()))
            except Exception:
                continue
            for call in every:
                attempt((name, kind, which), call, False)
layer = lt.CfC(3, 5)
x, h, dt = inputs(layer)
strange = torch.rand(2, 1, 3).expand(2, 40, 3)
torch.testing.assert_close(layer(strange, h, dt=dt)[0], layer(strange.clone(), h, dt=dt)[0])
overlapping = torch.rand(200).as_strided((2, 40, 3), (1, 1, 1))
torch.testing.assert_close(layer(overlapping, h, dt=dt)[0], layer(overlapping.clone(), h, dt=dt)[0])
"""


@pytest.mark.parametrize(
    "script",
    [FREED_INPUTS, FREED_PARTS, FREED_BEFORE_GRADIENTS, OTHER_SHAPES, OTHER_KINDS],
    ids=["inputs", "parts", "before gradients", "shapes", "kinds"],
)
def test_no_signal(script):
    code, _, err = processes.run("-c", PREAMBLE + script, env={"LIQUIDTIME_BACKEND": "native"})
    assert code == 0, err[-3000:]


HOGWILD = """
import multiprocessing
import torch
import liquidtime as lt
from liquidtime.ops import using_backend

def write(layer):
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.mul_(1.5).add_(0.1)

torch.manual_seed(0)
for make in (lambda: lt.CfC(3, 5), lambda: lt.CfC(3, 5, mixed_memory=True), lambda: lt.LTC(3, 5)):
    layer = make()
    layer.share_memory()
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    def results(backend):
        with using_backend(backend), torch.no_grad():
            return layer(x, dt=dt)[0], layer.step(x[:, 0], None, dt[:, 0])[0]
    before = results("native")
    versions = [p._version for p in layer.parameters()]
    process = multiprocessing.get_context("fork").Process(target=write, args=(layer,))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert versions == [p._version for p in layer.parameters()]  # nothing here tells of the change
    for old, new, expected in zip(before, results("native"), results("reference")):
        torch.testing.assert_close(new, expected)
        assert not torch.allclose(old, new, atol=1e-4)
"""


def test_another_process_that_writes_the_weights_is_seen():
    code, _, err = processes.run("-c", HOGWILD)
    assert code == 0, err[-3000:]
