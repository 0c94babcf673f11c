"""Stacked layers that run both ways in time give on the kernels, one call a layer and direction, what loops give."""

from __future__ import annotations

import pytest
import torch

import liquidtime as lt
from liquidtime.ops import using_backend
from liquidtime.ops.cfc_scan.cpu import CpuBackend as CfcBackend
from liquidtime.ops.ltc_scan.cpu import CpuBackend as LtcBackend
from liquidtime.ops.native import library
from ops.scans import TOLERANCE, assert_same

pytestmark = pytest.mark.skipif(not library.is_built(), reason="the kernels are not built")

LAYERS = {
    "cfc": lambda: lt.CfC(3, 5, backbone_units=7, num_layers=2, bidirectional=True),
    "no_gate": lambda: lt.CfC(3, 5, "no_gate", backbone_units=7, num_layers=2, bidirectional=True, proj_size=2),
    "cf_s": lambda: lt.CfC(3, 5, "cf_s", backbone_layers=2, num_layers=2, bidirectional=True, recompute=True),
    "cf_s_paper": lambda: lt.CfC(3, 5, "cf_s_paper", backbone_layers=0, num_layers=2, bidirectional=True),
    "memory": lambda: lt.CfC(3, 5, mixed_memory="input", num_layers=2, bidirectional=True),
    "ltc": lambda: lt.LTC(3, 5, unfolds=2, num_layers=2, bidirectional=True),
}


def results(layer, x, h0, dt, lengths):
    """The outputs, the last state and every gradient of a weighing of both."""
    y, h = layer(x, h0, dt=dt, lengths=lengths)
    parts = (h,) if isinstance(h, torch.Tensor) else h
    g = torch.Generator().manual_seed(1)
    loss = sum((part * torch.randn(part.shape, generator=g, dtype=part.dtype)).sum() for part in (y, *parts))
    starts = (h0,) if isinstance(h0, torch.Tensor) else h0
    return [y, *parts, *torch.autograd.grad(loss, [x, dt, *starts, *layer.parameters()])]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("name", list(LAYERS))
def test_equal_the_plain_loops(name, ragged, dtype, monkeypatch):
    torch.manual_seed(0)
    layer = LAYERS[name]().to(dtype)
    x = torch.randn(4, 6, 3, dtype=dtype, requires_grad=True)
    dt = torch.rand(4, 6, dtype=dtype).requires_grad_()
    parts = [torch.randn(4, 4, size, dtype=dtype).requires_grad_() for size in layer.cells[0].state_sizes]
    h0 = parts[0] if len(parts) == 1 else tuple(parts)
    given = x, h0, dt, torch.tensor([6, 0, 2, 5]) if ragged else None
    with using_backend("reference"):
        expected = results(layer, *given)
    calls: list[int] = []
    kind = LtcBackend if name == "ltc" else CfcBackend
    run = kind.backward
    monkeypatch.setattr(kind, "backward", lambda *a: calls.append(1) or run(*a))
    with using_backend("native"):
        assert_same(results(layer, *given), expected, TOLERANCE[dtype])
    assert len(calls) == (8 if name == "cf_s" else 4)  # which recomputes, in two segments
