from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

import liquidtime as lt
import processes
from liquidtime.cells import CfCCell
from liquidtime.ops import backend, live_backend, set_backend, using_backend
from liquidtime.ops.cfc_scan.backend import Inputs, check_inputs
from liquidtime.ops.cfc_scan.form import Form
from liquidtime.ops.native import library

needs_kernel = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")


def test_the_run_that_should_have_the_kernel_has_it():
    if os.environ.get("LIQUIDTIME_BACKEND") == "native":
        assert live_backend() == "native"
        cell = CfCCell(2, 3)
        assert cell.fused() is not None
    elif os.environ.get("LIQUIDTIME_BACKEND") == "reference":
        assert live_backend() == "reference"
    else:
        assert live_backend() == ("native" if library.is_built() else "reference")


@pytest.mark.slow
def test_the_environment_chooses_the_backend():
    code = "import liquidtime.ops as o; print(o.backend(), o.live_backend())"
    _, out, _ = processes.run("-c", code, env={"LIQUIDTIME_BACKEND": "reference"})
    assert out.split() == ["reference", "reference"]
    exit_code, _, err = processes.run("-c", code, env={"LIQUIDTIME_BACKEND": "cuda"})
    assert exit_code != 0
    assert "`backend` must be one of 'auto', 'native', 'reference'; got 'cuda'" in err


def test_asking_for_a_missing_kernel_says_how_to_build_it(monkeypatch):
    before = backend()
    monkeypatch.setattr(library, "FILE_NAME", "absent.so")
    monkeypatch.setattr(library, "_library", None)
    monkeypatch.setattr(library, "_missing", None)
    try:
        set_backend("auto")
        assert live_backend() == "reference"
        with pytest.raises(library.NativeMissingError, match=r"not built: the package has no absent\.so.*pip install"):
            set_backend("native")
        assert backend() == "auto"
    finally:
        monkeypatch.undo()
        set_backend(before)


@needs_kernel
def test_the_backend_is_put_back():
    before = backend()
    with using_backend("reference"):
        assert live_backend() == "reference"
        with using_backend("native"):
            assert live_backend() == "native"
        assert live_backend() == "reference"
    assert backend() == before
    with pytest.raises(ValueError, match="did you mean `native`"):
        set_backend("nativ")


@needs_kernel
@pytest.mark.parametrize("meddle", ["hook", "subclass", "map"])
def test_a_cell_that_is_not_itself_any_more_runs_the_plain_loop(meddle):
    class Louder(CfCCell):
        def combine(self, x, h, dt):
            return 2 * super().combine(x, h, dt)

    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    torch.manual_seed(0)
    cell = (Louder if meddle == "subclass" else CfCCell)(2, 3)
    seen = []
    if meddle == "hook":
        cell.backbone.layers[0].register_forward_hook(lambda *_: seen.append(1))
    if meddle == "map":
        cell.backbone.layers[0] = Doubled(5, 128)
    x, dt = torch.randn(2, 5, 2), torch.rand(2, 5)
    results = []
    for name in ("native", "reference"):
        with using_backend(name):
            results.append(cell.scan(x, cell.initial_state(x), dt)[0])
    assert torch.equal(*results)
    assert len(seen) == (10 if meddle == "hook" else 0)


@needs_kernel
def test_autocast_keeps_the_kernel_in_its_own_type():
    torch.manual_seed(0)
    layer = lt.CfC(3, 5)
    x = torch.randn(4, 6, 3)
    with using_backend("native"):
        expected, _ = layer(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y, _ = layer(x)
            y.sum().backward()
    assert torch.equal(y, expected)
    mixed = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    expected.sum().backward()
    for p, grad in zip(layer.parameters(), mixed, strict=True):
        torch.testing.assert_close(p.grad, grad)


@needs_kernel
def test_dropout_scales_what_it_keeps_and_follows_the_seed():
    layer = lt.CfC(3, 16, backbone_units=64, backbone_dropout=0.5)
    x = torch.randn(64, 2, 3)
    with using_backend("native"):
        torch.manual_seed(0)
        first, _ = layer(x)
        torch.manual_seed(0)
        again, _ = layer(x)
        other, _ = layer(x)
        assert torch.equal(first, again)
        assert not torch.equal(first, other)
        layer.eval()
        still, _ = layer(x)
    with using_backend("reference"):
        torch.testing.assert_close(still, layer(x)[0])


def test_a_backend_chosen_in_a_thread_is_chosen_there_alone():
    here, there = threading.Barrier(2, timeout=60), []

    def other():
        with using_backend("reference"):
            here.wait()
            there.append((backend(), live_backend()))
            here.wait()

    before = backend()
    thread = threading.Thread(target=other)
    thread.start()
    here.wait()
    seen = backend()
    here.wait()
    thread.join()
    assert seen == before
    assert there == [("reference", "reference")]


@pytest.mark.slow
def test_nothing_is_loaded_before_it_is_needed():
    code = "import liquidtime; from liquidtime.ops.native import library as l; print(l._library, l._missing)"
    environment = {key: value for key, value in os.environ.items() if key != "LIQUIDTIME_BACKEND"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "None"]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # of PyTorch's own
def test_derivatives_of_forward_mode_come_from_the_plain_loop():
    layer, x, dt, v = lt.CfC(3, 5, backbone_units=7), torch.randn(2, 6, 3), torch.rand(2, 6), torch.randn(2, 6, 3)
    with using_backend("auto"), forward_ad.dual_level():
        layer(x, dt=dt)
        y, _ = layer(forward_ad.make_dual(x, v), dt=dt)
        got = forward_ad.unpack_dual(y).tangent
    with using_backend("reference"):
        _, expected = torch.autograd.functional.jvp(lambda x: layer(x, dt=dt)[0], x, v)
    torch.testing.assert_close(got, expected)


@needs_kernel
def test_a_compiled_function_is_compiled_again_for_another_choice():
    graphs, layer, x, dt = [], lt.CfC(3, 5, backbone_units=7), torch.randn(2, 3, 3), torch.rand(2, 3)

    def record(module, inputs):
        graphs.append(" ".join(str(node.target) for node in module.graph.nodes))
        return module.forward

    compiled = torch.compile(lambda x: layer(x, dt=dt)[0], backend=record)
    for name in ("auto", "reference", "auto"):
        with using_backend(name):
            torch.testing.assert_close(compiled(x), layer(x, dt=dt)[0])
    assert ["cfc_scan" in graph for graph in graphs] == [True, False]


@pytest.mark.parametrize("shape", [(2, 2, 3, 4), (1, 1, 3, 4), (1, 2, 2, 4), (1, 2, 3, 1), (2, 3, 4)])
def test_masks_of_another_shape_are_refused(shape):
    form, weights = (
        Form(masked=(True,)),
        [torch.zeros(4, 5), torch.zeros(4), torch.zeros(12, 4), torch.zeros(12)],
    )
    inputs = [torch.zeros(2, 3, 2), torch.zeros(2, 3), None, torch.zeros(2, 3), None, weights]
    check_inputs(form, Inputs(*inputs, torch.zeros(1, 2, 3, 4)))
    with pytest.raises(ValueError, match="`masks` must have shape"):
        check_inputs(form, Inputs(*inputs, torch.zeros(shape)))


@needs_kernel
def test_what_watches_operators_sees_the_scan_as_one():
    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, given=(), named=None):
            seen.append(str(operator))
            return operator(*given, **(named or {}))

    seen, layer, x, dt = [], lt.CfC(3, 5, backbone_units=7), torch.randn(2, 3, 3), torch.rand(2, 3)
    with torch.no_grad(), using_backend("native"):
        expected = layer(x, dt=dt)[0]
        with Watch():
            torch.testing.assert_close(layer(x, dt=dt)[0], expected)
    assert any("cfc_scan" in name for name in seen)
