"""Nothing that Python can pass ends the process: each case is refused with an exception or computed as it should be."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

import liquidtime as lt
import processes
from liquidtime.ops import using_backend
from liquidtime.ops.cfc_scan import Form
from liquidtime.ops.native import library
from ops.scans import by_kernel, draw, ltc_by_kernel
from ops.test_ltc_scan import draw as draw_ltc

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

LAYERS = {"cfc": lambda: lt.CfC(3, 5), "memory": lambda: lt.CfC(3, 5, mixed_memory=True), "ltc": lambda: lt.LTC(3, 5)}
BAD = {
    "beyond": ([5, 6], None),
    "far beyond": ([5, 10**7], None),
    "negative": ([5, -3], None),
    "interval": ([5, 4], -1.0),
    "nan": ([5, 4], float("nan")),
    "infinite": ([5, 4], float("inf")),
}


@pytest.fixture(autouse=True)
def _native():
    with using_backend("native"):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LAYERS))
def test_tracers_take_a_layer_whole_and_bad_numbers_are_refused_when_it_runs(name):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    x, dt, good = torch.randn(2, 5, 3), torch.rand(2, 5), torch.tensor([5, 2])
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    exported = torch.export.export(layer, (x,), {"dt": dt, "lengths": good})
    assert str(exported.graph).count("torch.ops.liquidtime.") == 1
    program, parameters = exported.module(), list(layer.parameters())
    expected, _ = layer(x, dt=dt, lengths=good)
    grads = torch.autograd.grad(expected.square().sum(), parameters)
    own = torch.autograd.grad(compiled(x, dt=dt, lengths=good)[0].square().sum(), parameters)
    torch.testing.assert_close(own, grads)
    for way in (compiled, program):
        torch.testing.assert_close(way(x, dt=dt, lengths=good)[0], expected)
        for lengths, value in BAD.values():
            wrong = dt.clone()
            if value is not None:
                wrong[1, 2] = value
            with pytest.raises((ValueError, RuntimeError), match=r"`lengths`|`dt`"):
                way(x, dt=wrong, lengths=torch.tensor(lengths))


@pytest.mark.parametrize("lengths", [[4, 5, 3], [4, -1, 3], [4, 2**62, 3], [4, -(2**63), 3]])
@pytest.mark.parametrize("options", [{}, {"traced": True}, {"recompute": True}])
def test_bad_lengths_of_the_operators(lengths, options):
    case = draw(Form(), lengths=[4, 0, 3])
    case.lengths = torch.tensor(lengths)
    with pytest.raises(ValueError, match="`lengths` must be in 0…T"):
        case.run(by_kernel, **options)
    if "recompute" not in options:
        leaves, _, graphs = draw_ltc(3, 4, 2, 5, torch.float64)
        with pytest.raises(ValueError, match="`lengths` must be in 0…T"):
            ltc_by_kernel(*leaves[:3], torch.tensor(lengths), leaves[3:], *graphs, 2, **options)


def test_lengths_may_be_filled_again_before_the_gradients():
    for name, make in LAYERS.items():
        torch.manual_seed(0)
        layer = make()
        x, dt = torch.randn(3, 5, 3), torch.rand(3, 5)
        for buffer in (np.array([5, 2, 3]), torch.tensor([5, 2, 3])):
            expected = torch.autograd.grad(layer(x, dt=dt, lengths=[5, 2, 3])[0].sum(), list(layer.parameters()))
            y, _ = layer(x, dt=dt, lengths=buffer)
            buffer[:] = 10**9
            for mine, theirs in zip(torch.autograd.grad(y.sum(), list(layer.parameters())), expected, strict=True):
                assert torch.equal(mine, theirs), name


def negated(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.cfloat).conj().imag


@pytest.mark.parametrize("name", list(LAYERS))
def test_lazily_negated_tensors_keep_their_sign(name):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    x, dt = negated(2, 5, 3), torch._neg_view(-torch.rand(2, 5))
    parts = tuple(negated(1, 2, 5) for _ in layer.cells[0].state_sizes)
    h = parts[0] if len(parts) == 1 else parts
    clean_h = h.clone() if len(parts) == 1 else tuple(part.clone() for part in parts)
    assert x.is_neg()
    assert dt.is_neg()
    torch.testing.assert_close(layer(x, h, dt=dt)[0], layer(x.clone(), clean_h, dt=dt.clone())[0])
    with torch.no_grad():
        mine = layer.step(x[:, 1], h, dt[:, 1])[0]
        torch.testing.assert_close(mine, layer.step(x[:, 1].clone(), clean_h, dt[:, 1].clone())[0])
        weight = next(layer.parameters())
        expected = None
        for value in (weight.data.clone(), torch._neg_view(-weight.data)):
            weight.data = value
            found = layer(x, h, dt=dt)[0]
            expected = found if expected is None else expected
            torch.testing.assert_close(found, expected)
        y, _ = layer(x.clone(), dt=dt.clone())
    y = layer(x.clone(), clean_h, dt=dt.clone())[0]
    signs = negated(*y.shape)
    weights = list(layer.parameters())
    lazily = torch.autograd.grad(y, weights, signs, retain_graph=True)
    for mine, theirs in zip(lazily, torch.autograd.grad(y, weights, signs.clone()), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_zeros_without_memory_are_zeros():
    layer, zeros = lt.CfC(3, 5), torch._efficientzerotensor
    expected, _ = layer(torch.zeros(2, 4, 3), torch.zeros(1, 2, 5), dt=torch.zeros(2, 4))
    torch.testing.assert_close(layer(zeros((2, 4, 3)), zeros((1, 2, 5)), dt=torch.zeros(2, 4))[0], expected)
    with torch.no_grad():
        y, _ = layer.step(zeros((2, 3)), zeros((1, 2, 5)), 0.0)
    torch.testing.assert_close(y, expected[:, 0])


@pytest.mark.parametrize("size", [0, 4])
@pytest.mark.parametrize("which", ["x", "view", "h0", "weight", "bias"])
def test_freed_memory_is_refused(which, size):
    layer = lt.CfC(3, 5)
    x, dt, h = torch.randn(2, 9, 3), torch.rand(2, 9), torch.randn(1, 2, 5)
    view = x[:, 2:]
    with torch.no_grad():
        layer.step(x[:, 0], h, dt[:, 0])
        layer(x, h, dt=dt)
        freed = {"x": x, "view": x, "h0": h}.get(which)
        if freed is None:
            freed = getattr(layer.cells[0].heads, which)
        freed.untyped_storage().resize_(size)
        with pytest.raises((ValueError, RuntimeError), match=r"has .* numbers, but its storage has only|storage"):
            layer(*((view, h, dt[:, 2:]) if which == "view" else (x, h, dt)))
        if which not in ("x", "view"):
            with pytest.raises((ValueError, RuntimeError), match=r"has .* numbers, but its storage has only|storage"):
                layer.step(torch.randn(2, 3), h, 1.0)


def test_freed_memory_is_refused_by_the_operators():
    given = arguments()
    for name in ("x", "h0", "dt", "lengths"):
        whole = given[name].clone()
        whole.untyped_storage().resize_(0)
        with pytest.raises(ValueError, match=rf"`{name}` has .* numbers, but its storage has only"):
            torch.ops.liquidtime.cfc_scan(*(given | {name: whole}).values())
    (x, v, dt, *parameters), _, (sensory, recurrent) = draw_ltc(2, 3, 2, 4, torch.float32)
    for index in range(14):
        parts = [t.detach().clone() for t in (x, v, dt, *parameters)]
        if parts[index].numel():
            parts[index].untyped_storage().resize_(0)
            tables = [*sensory, *recurrent]
            with pytest.raises(ValueError, match=r"has .* numbers, but its storage has only"):
                torch.ops.liquidtime.ltc_scan(*parts[:3], None, parts[3:], tables, 2, False, False, "euler")


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("which", ["heads.weight", "heads.bias", "backbone.layers.0.weight", "backbone.layers.0.bias"])
def test_weights_of_another_shape_are_refused(which, backward):
    layer = lt.CfC(3, 5)
    x, dt = torch.randn(2, 4, 3), torch.rand(2, 4)
    weight = dict(layer.cells[0].named_parameters())[which]
    with torch.no_grad():
        layer.step(x[:, 0], None, dt[:, 0])
    y, _ = layer(x, dt=dt)
    weight.data = torch.zeros(1, *weight.shape[1:])
    if backward:
        with pytest.raises((ValueError, RuntimeError)):
            y.sum().backward()
        return
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            for call in (lambda: layer(x, dt=dt), lambda: layer(x, dt=dt, lengths=[4, 2])):
                with pytest.raises((ValueError, RuntimeError)):
                    call()
    with torch.no_grad(), pytest.raises((ValueError, RuntimeError)):
        layer.step(x[:, 0], None, dt[:, 0])


def arguments():
    form = Form()
    case = draw(form, 2, 3, 2, 3, 4, torch.float32, lengths=[3, 1])
    return {
        "x": case.x.detach(),
        "h0": case.state[0].detach(),
        "m0": None,
        "dt": case.dt.detach(),
        "lengths": case.lengths,
        "weights": [w.detach() for w in case.weights],
        "masks": None,
        "code": form.encode(),
        "forget_bias": 1.0,
        "save": True,
        "need_ddt": True,
    }


REFUSED = {
    "h0 of another width": {"h0": torch.zeros(2, 4)},
    "h0 of fewer rows": {"h0": torch.zeros(1, 3)},
    "h0 of no width": {"h0": torch.zeros(2, 0)},
    "a memory that is none": {"m0": torch.zeros(2, 3)},
    "dt of another shape": {"dt": torch.zeros(2, 2)},
    "dt of another type": {"dt": torch.zeros(2, 3).double()},
    "x without an axis": {"x": torch.zeros(2, 3)},
    "x without inputs": {"x": torch.zeros(2, 3, 0)},
    "x elsewhere": {"x": torch.zeros(2, 3, 2, device="meta")},
    "weights elsewhere": {"weights": [torch.zeros(4, 5, device="meta")] * 4},
    "fewer weights": {"weights": []},
    "weights of one number": {"weights": [torch.zeros(())] * 4},
    "lengths of another type": {"lengths": torch.tensor([3, 1], dtype=torch.int32)},
    "lengths of another shape": {"lengths": torch.tensor([3, 1, 2])},
    "masks that are none": {"masks": torch.zeros(1, 2, 3, 4)},
    "no code": {"code": []},
    "another kind": {"code": [9, 4, 1, 0, 3, 0, 0, 0]},
    "a negative kind": {"code": [-1, 4, 1, 0, 3, 0, 0, 0]},
    "more layers than there can be": {"code": [0, 4, 1000, 0, 3, 0, 0, 0]},
    "relu on the heads": {"code": [0, 4, 1, 0, 0, 0, 0, 0]},
    "heads of another kind": {"code": [0, 1, 1, 0, 3, 0, 0, 0]},
    "masks of no layer": {"code": [0, 4, 1, 0, 3, 0, 0, 0, 1, 1, 1]},
    "half": {"x": torch.zeros(2, 3, 2).half()},
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_what_does_not_fit_the_operator_is_refused(what):
    given = arguments()
    y, hn, _, saved = torch.ops.liquidtime.cfc_scan(*given.values())
    wrong = given | REFUSED[what]
    with pytest.raises((ValueError, TypeError, RuntimeError, NotImplementedError)):
        torch.ops.liquidtime.cfc_scan(*wrong.values())
    first = {name: wrong[name] for name in ("x", "h0", "m0", "dt", "lengths", "weights", "masks")}
    with pytest.raises((ValueError, TypeError, RuntimeError, NotImplementedError)):
        torch.ops.liquidtime.cfc_scan_backward(
            y, hn, None, *first.values(), y, saved, wrong["code"], wrong["forget_bias"], True, True
        )


@pytest.mark.parametrize("what", ["saved", "y", "dy", "dhn", "saved of another type", "lengths"])
def test_what_does_not_fit_the_backward_operator_is_refused(what):
    given = arguments()
    y, hn, _, saved = torch.ops.liquidtime.cfc_scan(*given.values())
    dy, dhn, lengths = torch.ones_like(y), torch.ones_like(hn), given["lengths"]
    y, saved, dy, dhn, lengths = {
        "saved": (y, saved[:-1].clone(), dy, dhn, lengths),
        "y": (y[:, :2], saved, dy, dhn, lengths),
        "dy": (y, saved, dy[:, :2], dhn, lengths),
        "dhn": (y, saved, dy, dhn[:1], lengths),
        "saved of another type": (y, saved.double(), dy, dhn, lengths),
        "lengths": (y, saved, dy, dhn, torch.tensor([3, 4])),
    }[what]
    first = {name: given[name] for name in ("x", "h0", "m0", "dt")}
    rest = (lengths, given["weights"], None, y, saved, given["code"], 1.0, True, True)
    with pytest.raises((ValueError, TypeError)):
        torch.ops.liquidtime.cfc_scan_backward(dy, dhn, None, *first.values(), *rest)


@pytest.mark.parametrize("what", ["pre", "negative pre", "first", "last", "first of another size", "solver", "unfolds"])
def test_synapses_that_do_not_fit_are_refused(what):
    (x, v, dt, *parameters), _, (sensory, recurrent) = draw_ltc(2, 3, 2, 4, torch.float32, density=1.0)
    tables, unfolds, solver = [t.clone() for t in (*sensory, *recurrent)], 2, "euler"
    if what == "pre":
        tables[3][-1] = 4
    elif what == "negative pre":
        tables[0][0] = -1
    elif what == "first":
        tables[2][1] = 10**6
    elif what == "last":
        tables[5][-1] += 1
    elif what == "first of another size":
        tables[5] = tables[5][:-1]
    elif what == "solver":
        solver = "leapfrog"
    else:
        unfolds = 0
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        torch.ops.liquidtime.ltc_scan(x, v, dt, None, parameters, tables, unfolds, False, False, solver)


@pytest.mark.parametrize(("B", "T"), [(0, 4), (3, 0), (0, 0)])
@pytest.mark.parametrize("name", list(LAYERS))
def test_nothing_to_do_is_done(name, B, T):
    layer = LAYERS[name]()
    for lengths in (None, torch.zeros(B, dtype=torch.int64)):
        y, _ = layer(torch.randn(B, T, 3), dt=torch.rand(B, T), lengths=lengths)
        assert y.shape == (B, T, 5)
        y.sum().backward()
    with torch.no_grad():
        assert layer.step(torch.randn(B, 3))[0].shape == (B, 5)


def test_more_steps_than_memory_is_an_exception():
    layer = lt.CfC(3, 5)
    x, dt = torch.zeros(1, 1, 3).expand(1, 2**50, 3), torch.zeros(1, 1).expand(1, 2**50)
    with pytest.raises((RuntimeError, MemoryError)):
        torch.ops.liquidtime.cfc_scan(
            x, torch.zeros(1, 5), None, dt, None, list(layer.parameters()), None, Form().encode(), 1.0, False, False
        )


FORK = """
import os
import torch
import liquidtime as lt

layer = lt.CfC(3, 32)
x, dt, state = torch.randn(64, 50, 3), torch.rand(64, 50), (torch.zeros(64, 32),)
torch.set_num_threads(2)
with torch.no_grad():
    expected = layer.cells[0].scan(x, state, dt)[0].numpy()
    child = os.fork()
    if child == 0:  # where PyTorch's own threads would hang, so numpy compares
        os._exit(0 if (layer.cells[0].scan(x, state, dt)[0].numpy() == expected).all() else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_runs_on_its_own_threads():
    code, _, err = processes.run("-c", FORK, env={"LIQUIDTIME_BACKEND": "native"})  # PyTorch's own loop would hang
    assert code == 0, err
