"""What PyTorch is told of the kernels: both directions as operators, second derivatives, threads, the GIL."""

from __future__ import annotations

import threading
import time

import pytest
import torch

import liquidtime as lt
from liquidtime.ops import using_backend
from liquidtime.ops.cfc_scan import Form
from liquidtime.ops.ltc_scan.cpu import CpuBackend
from liquidtime.ops.native import library
from ops import test_ltc_scan as ltc
from ops.scans import by_kernel, draw

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

FORMS = {
    "gated": Form(),
    "three heads, no backbone": Form("no_gate", 3, 0),
    "memory": Form(memory="hidden"),
    "memory on the input": Form("cf_s", 1, memory="input"),
    "two passes, dropout": Form("cf_s_paper", 1, 2, masked=(True, True)),
}


def leaves(*tensors):
    return [None if t is None else t.detach() for t in tensors]


@pytest.mark.parametrize("name", list(FORMS))
def test_the_backward_operator_of_cfc_scan_is_registered_as_it_should_be(name):
    form = FORMS[name]
    case = draw(form, 2, 3, 2, 3, 4, lengths=None if name == "gated" else [3, 1])
    m0 = case.state[1] if form.memory != "none" else None
    x, h0, m0, dt, *weights = leaves(case.x, case.state[0], m0, case.dt, *case.weights)
    code = form.encode()
    y, hn, mn, saved = torch.ops.liquidtime.cfc_scan(
        x, h0, m0, dt, case.lengths, weights, case.masks, code, form.forget_bias, True, name != "gated"
    )
    incoming = [torch.randn_like(y), torch.randn_like(hn), None if m0 is None else torch.randn_like(mn)]
    wanted = (None, incoming[1], None, False, False) if name == "gated" else (*incoming, True, True)
    dy, dhn, dmn, need_dx, need_ddt = wanted
    arguments = (dy, dhn, dmn, x, h0, m0, dt, case.lengths, weights, case.masks, y, saved, code, 1.0)
    torch.library.opcheck(torch.ops.liquidtime.cfc_scan_backward.default, (*arguments, need_dx, need_ddt))


@pytest.mark.parametrize("solver", ["semi_implicit", "midpoint"])
def test_the_backward_operator_of_ltc_scan_is_registered_as_it_should_be(solver):
    (x, v, dt, *parameters), lengths, graphs = ltc.draw(2, 3, 2, 3, torch.float64, [3, 1])
    x, v, dt, *parameters = leaves(x, v, dt, *parameters)
    tables = [*graphs[0], *graphs[1]]
    y, last, states = torch.ops.liquidtime.ltc_scan(x, v, dt, lengths, parameters, tables, 2, True, True, solver)
    wanted = (torch.randn_like(y), torch.randn_like(last), True, True)
    dy, dvn, need_dx, need_ddt = wanted if solver == "midpoint" else (None, last, False, False)
    arguments = (dy, dvn, x, v, dt, lengths, parameters, tables, states, 2, need_dx, need_ddt, solver)
    torch.library.opcheck(torch.ops.liquidtime.ltc_scan_backward.default, arguments)


@pytest.mark.parametrize("options", [{}, {"recompute": True}, {"traced": True}])
def test_every_way_refuses_second_derivatives_in_the_same_words(options):
    case = draw(Form(memory="hidden"), lengths=[4, 0, 3])
    y, _ = case.run(by_kernel, **options)
    (first,) = torch.autograd.grad(y.square().sum(), case.x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"no second derivatives.*using_backend\('reference'\)"):
        torch.autograd.grad(first.square().sum(), case.x)


@pytest.mark.parametrize("options", [{}, {"recompute": True}, {"traced": True}])
@pytest.mark.parametrize("leaf", ["x", "dt"])
def test_a_penalty_on_the_gradient_of_a_sum_is_refused_and_not_left_out(options, leaf):
    """Its incoming gradients are constants: only the tensors of the forward run tell what it depends on."""
    case = draw(Form(), lengths=[4, 0, 3])
    y, _ = case.run(by_kernel, **options)
    (first,) = torch.autograd.grad(y.sum(), getattr(case, leaf), create_graph=True)
    with pytest.raises(RuntimeError, match=r"no second derivatives.*using_backend\('reference'\)"):
        first.square().sum().backward()


def test_the_hessian_of_a_liquid_network_is_refused_and_not_zero():
    layer, x = lt.LTC(2, 3), torch.randn(1, 3, 2)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.functional.hessian(lambda x: layer(x)[0].sum(), x)


def test_second_derivatives_are_had_where_the_text_says():
    layer = lt.CfC(2, 3, recompute=True).double()
    x = torch.randn(2, 3, 2, dtype=torch.float64, requires_grad=True)
    with using_backend("reference"):
        assert torch.autograd.gradgradcheck(lambda x: layer(x)[0], x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mixed_memory", [False, True])
@pytest.mark.parametrize("kind", [lt.CfC, lt.LTC])
def test_single_steps_of_wired_and_liquid_layers_equal_the_sequence(kind, mixed_memory, dtype):
    torch.manual_seed(0)
    layer = kind(3, wiring=lt.wirings.AutoNCP(12, 3), num_layers=2, mixed_memory=mixed_memory).to(dtype)
    x, dt = torch.randn(4, 5, 3, dtype=dtype), torch.rand(4, 5, dtype=dtype)
    with using_backend("native"), torch.no_grad():
        expected, last = layer(x, dt=dt)
        state = None
        for k in range(5):
            y, state = layer.step(x[:, k], state, dt[:, k])
            torch.testing.assert_close(y, expected[:, k])
    for mine, theirs in zip(*([h] if isinstance(h, torch.Tensor) else h for h in (state, last)), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_single_steps_take_the_kernel(monkeypatch):
    layer = lt.LTC(3, wiring=lt.wirings.AutoNCP(12, 3))
    x = torch.randn(2, 3)
    calls: list[int] = []
    forward = type(layer.cells[0]).forward
    monkeypatch.setattr(CpuBackend, "forward", lambda *a, run=CpuBackend.forward, **k: calls.append(1) or run(*a, **k))
    with using_backend("native"):
        layer.step(x)
        assert not calls
        with torch.no_grad():
            layer.step(x)
        assert len(calls) == 1
        layer.cells[0].forward = lambda *given: forward(layer.cells[0], *given)
        with torch.no_grad():
            layer.step(x)
        assert len(calls) == 1


LAYERS = {
    "wired": lambda: lt.CfC(3, wiring=lt.wirings.AutoNCP(16, 3)),
    "liquid": lambda: lt.LTC(3, 12),
    "midpoint": lambda: lt.LTC(3, 12, solver="midpoint", unfolds=2),
    "recomputing": lambda: lt.CfC(3, 12, recompute=True),
}


@pytest.mark.parametrize("name", list(LAYERS))
def test_several_python_threads_at_once(name):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    weights = list(layer.parameters())
    inputs = [(torch.randn(9, 12, 3), torch.rand(9, 12), torch.randint(0, 13, (9,))) for _ in range(4)]

    def run(x, dt, lengths):
        y, _ = layer(x, dt=dt, lengths=lengths)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), weights)]

    failures: list[int] = []

    def work(index: int) -> None:
        for _ in range(10):
            if not all(torch.equal(a, b) for a, b in zip(run(*inputs[index]), expected[index], strict=True)):
                failures.append(index)

    with using_backend("native"):
        expected = [run(*given) for given in inputs]
        threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


@pytest.mark.parametrize("layer", [lt.CfC(8, 64), lt.LTC(8, 48)])
def test_python_goes_on_while_a_kernel_runs(layer):
    x = torch.randn(8, 1500, 8)
    spans: list[tuple[float, float]] = []

    def work() -> None:
        with torch.no_grad():
            state = layer.cells[0].initial_state(x)
            start = time.perf_counter()
            layer.cells[0].scan(x, state, torch.ones(8, 1500))
            spans.append((start, time.perf_counter()))

    with using_backend("native"):
        for _ in range(5):  # on a busy machine this thread may not be given the processor in the first of them
            ticks: list[float] = []
            thread = threading.Thread(target=work)
            thread.start()
            while thread.is_alive():
                ticks.append(time.perf_counter())
                time.sleep(0)
            start, end = spans[-1]
            margin = (end - start) / 4
            if any(start + margin < tick < end - margin for tick in ticks):
                return
    pytest.fail("no line of Python ran in the middle half of a scan")
