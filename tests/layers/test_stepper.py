"""The frozen stepper of a layer gives what `step` gives, bit by bit, and stays what it was."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import liquidtime as lt
from liquidtime.ops import using_backend
from liquidtime.ops.native import library

LAYERS = {
    "cfc": lambda: lt.CfC(3, 5, backbone_units=7),
    "cf_s": lambda: lt.CfC(3, 5, "cf_s", backbone_units=7),
    "paper": lambda: lt.CfC(3, 5, "cf_s_paper", backbone_units=7),
    "stack": lambda: lt.CfC(3, 5, backbone_units=7, num_layers=3),
    "memory": lambda: lt.CfC(3, 5, backbone_units=7, mixed_memory=True, num_layers=2),
    "double": lambda: lt.CfC(3, 5, backbone_units=7).double(),
    "projected": lambda: lt.CfC(3, 5, backbone_units=7, proj_size=2),
    "wired": lambda: lt.CfC(3, wiring=lt.wirings.FullyConnected(5)),
    "ltc": lambda: lt.LTC(3, 5),
}
STRIDES = {
    "dense": lambda x: x,
    "columns": lambda x: x.t().contiguous().t(),
    "every other": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "expanded": lambda x: x[:1].expand(x.shape),
    "offset": lambda x: torch.cat([x[:1], x])[1:],
    "negated": lambda x: torch._neg_view(-x),
}


def kind(layer):
    return next(layer.parameters()).dtype


def parts(state):
    return (state,) if isinstance(state, torch.Tensor) else state


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize("name", LAYERS)
def test_it_equals_step(name, backend):
    if backend == "native" and not library.is_built():
        pytest.skip("the kernels are not built")
    torch.manual_seed(0)
    layer = LAYERS[name]()
    with using_backend(backend), torch.no_grad():
        stepper, h = layer.stepper(2), None
        for _, change in STRIDES.items():
            x = change(torch.randn(2, 3, dtype=kind(layer)))
            for dt in (None, 2, 0.5, torch.rand(2, dtype=kind(layer)), torch.tensor(0.25, dtype=kind(layer))):
                y, h = layer.step(x, h, dt)
                assert torch.equal(stepper(x, dt), y)
                for mine, theirs in zip(parts(stepper.state), parts(h), strict=True):
                    assert torch.equal(mine, theirs)


def test_it_is_frozen_and_starts_again():
    layer = lt.CfC(3, 5, "cf_s", backbone_units=7)
    stepper, x = layer.stepper(), torch.randn(1, 3)
    first = stepper(x).clone()
    state = stepper.state
    second = stepper(x).clone()
    for parameter in layer.parameters():
        parameter.data.mul_(2)
        parameter.data.untyped_storage().resize_(0)
    layer.cells[0] = nn.Identity()
    stepper.reset()
    assert torch.equal(stepper(x), first)
    stepper.reset(state)
    state.zero_()  # which is a copy
    assert torch.equal(stepper(x), second)
    with pytest.raises(ValueError, match=r"`state` must have shape"):
        stepper.reset(torch.zeros(1, 2, 5))
    with pytest.raises(ValueError, match=r"`state` must have 1 part"):
        stepper.reset((state, state))


def freed(shape):
    tensor = torch.zeros(shape)
    tensor.untyped_storage().resize_(0)
    return tensor


WRONG = {
    "width": (lambda: (torch.zeros(2, 4), 1.0), ValueError, "`x` must have shape"),
    "rows": (lambda: (torch.zeros(1, 3), 1.0), ValueError, "`x` must have shape"),
    "axes": (lambda: (torch.zeros(3), 1.0), ValueError, "`x` must have shape"),
    "scalar": (lambda: (torch.tensor(1.0), 1.0), ValueError, "`x` must have shape"),
    "type": (lambda: (torch.zeros(2, 3).double(), 1.0), TypeError, "`x` must be torch.float32"),
    "device": (lambda: (torch.zeros(2, 3, device="meta"), 1.0), TypeError, "on cpu"),
    "list": (lambda: ([[0.0] * 3] * 2, 1.0), TypeError, "plain tensor"),
    "freed": (lambda: (freed((2, 3)), 1.0), ValueError, "but its storage has only"),
    "freed dt": (lambda: (torch.zeros(2, 3), freed(2)), ValueError, "but its storage has only"),
    "dt shape": (lambda: (torch.zeros(2, 3), torch.ones(3)), ValueError, "`dt` must have shape"),
    "dt type": (lambda: (torch.zeros(2, 3), torch.ones(2).double()), TypeError, "`dt` must be torch.float32"),
    "dt text": (lambda: (torch.zeros(2, 3), "1"), TypeError, "`dt` must be a tensor"),
    "dt negative": (lambda: (torch.zeros(2, 3), -1.0), ValueError, "`dt` must"),
    "dt nan": (lambda: (torch.zeros(2, 3), torch.tensor([0.0, float("nan")])), ValueError, "`dt` must"),
}


@pytest.mark.parametrize("name", ["cfc", "memory", "ltc"])
@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_is_refused_and_changes_nothing(name, wrong):
    make, error, text = WRONG[wrong]
    stepper = LAYERS[name]().stepper(2)
    stepper(torch.randn(2, 3), 0.5)
    before = stepper.state
    with pytest.raises(error, match=text):
        stepper(*make())
    for old, new in zip(parts(before), parts(stepper.state), strict=True):
        assert torch.equal(old, new)


def test_a_layer_that_runs_backwards_has_none():
    with pytest.raises(ValueError, match="bidirectional"):
        lt.CfC(3, 5, bidirectional=True).stepper()


@pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")
def test_another_instruction_set_changes_nothing_but_the_last_digits():
    layer = LAYERS["memory"]()
    stepper, x, before = layer.stepper(), torch.randn(1, 3), library.target()
    first = stepper(x).clone()
    try:
        library.select_target("baseline")
        stepper.reset()
        torch.testing.assert_close(stepper(x), first)
    finally:
        library.select_target(before)
