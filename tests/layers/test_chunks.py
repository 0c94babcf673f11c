"""Long series in chunks: near the plain run within what is reported, and the plain run itself where memory is long."""

import pytest
import torch

from liquidtime import LTC, CfC, Recurrent, wirings
from liquidtime.cells import CfCCell, GRUCell, MixedMemory
from liquidtime.layers import chunks

NETWORKS = {
    "CfC": lambda: CfC(3, 8, backbone_units=8),
    "stack with a projection": lambda: CfC(3, 8, backbone_units=8, num_layers=2, proj_size=4),
    "memory": lambda: CfC(3, 6, backbone_units=6, mixed_memory=True),
    "wired": lambda: CfC(3, wiring=wirings.AutoNCP(10, 3, seed=0)),
    "GRU, time first": lambda: Recurrent(lambda d: GRUCell(d, 6), 3, batch_first=False),
    "LTC": lambda: LTC(3, 5, unfolds=2),
}


def batch(B, T, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(B, T, 3, generator=g), torch.rand(B, T, generator=g) + 0.5


def parts(h):
    return (h,) if isinstance(h, torch.Tensor) else h


def both(layer, x, dt, h0=None, **options):
    turned = (x, dt) if layer.batch_first else (x.transpose(0, 1), dt.transpose(0, 1))
    with torch.no_grad():
        plain = layer(turned[0], h0, turned[1])
    return plain, layer.run_in_chunks(turned[0], h0, turned[1], **options)


@pytest.mark.parametrize("name", list(NETWORKS))
@pytest.mark.parametrize(("B", "count", "T"), [(1, 4, 1100), (3, 2, 521)])
def test_it_is_the_plain_run_within_the_tolerance(name, B, count, T):
    torch.manual_seed(3)
    layer = NETWORKS[name]()
    x, dt = batch(B, T)
    with torch.no_grad():
        _, h0 = layer(*(x[:, :9], None, dt[:, :9]) if layer.batch_first else (x[:, :9].transpose(0, 1), None))
    (y, h), run = both(layer, x, dt, h0, chunks=count, tolerance=1e-5)
    assert run.chunks == count
    assert run.gap <= 1e-5
    assert T < run.steps < 1.5 * T
    torch.testing.assert_close(run.y, y, rtol=0, atol=5e-5)
    for mine, theirs in zip(parts(run.h), parts(h), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=5e-5)
    assert not run.y.requires_grad


def test_long_memory_falls_back_to_the_bits_of_the_plain_run():
    torch.manual_seed(0)  # the memory of the first sample is there at the end
    layer = Recurrent(lambda d: MixedMemory(CfCCell(d, 6, backbone_units=6), forget_bias=12.0), 3)
    x, dt = batch(2, 1024)
    (y, h), run = both(layer, x, dt, chunks=2)
    assert run.chunks == 1
    assert run.gap > 1e-6
    assert run.steps > 1024  # what was tried is counted
    assert torch.equal(run.y, y)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(parts(run.h), parts(h), strict=True))


def test_numbers_that_are_none_never_meet():
    layer = CfC(3, 4, backbone_units=4)
    x, dt = batch(1, 1024)
    x[0, 300] = float("nan")
    (y, _), run = both(layer, x, dt, chunks=2)
    assert run.chunks == 1
    torch.testing.assert_close(run.y, y, rtol=0, atol=0, equal_nan=True)


def test_auto_cuts_long_series_only(monkeypatch):
    layer = CfC(3, 4, backbone_units=4)
    monkeypatch.setattr(chunks, "ROWS", 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    counts = {}
    for B, T in ((1, 200), (1, 600), (1, 2000), (4, 2000), (2, 2000), (0, 2000)):
        x, dt = batch(B, T)
        (y, _), run = both(layer, x, dt)
        counts[B, T] = run.chunks
        if run.chunks == 1:
            assert torch.equal(run.y, y)
            assert (run.gap, run.steps) == (0.0, T)
    assert counts == {(1, 200): 1, (1, 600): 2, (1, 2000): 4, (4, 2000): 1, (2, 2000): 2, (0, 2000): 1}


@pytest.mark.parametrize(
    ("make", "options", "text"),
    [
        (lambda: CfC(3, 4, bidirectional=True), {}, "only runs forward"),
        (lambda: CfC(3, 4, num_layers=2, dropout=0.5), {}, "call `eval"),
        (lambda: CfC(3, 4, backbone_dropout=0.5), {}, "call `eval"),
        (lambda: CfC(3, 4), {"chunks": 0}, '`chunks` must be "auto" or'),
        (lambda: CfC(3, 4), {"chunks": True}, '`chunks` must be "auto" or'),
        (lambda: CfC(3, 4), {"chunks": "many"}, '`chunks` must be "auto" or'),
        (lambda: CfC(3, 4), {"tolerance": -1.0}, "`tolerance` must be"),
        (lambda: CfC(3, 4), {"tolerance": float("nan")}, "`tolerance` must be"),
        (lambda: CfC(3, 4), {"dt": -1.0}, "`dt`"),
        (lambda: CfC(3, 4), {"h0": torch.zeros(1, 2, 4), "chunks": 2}, "`h0` must have"),
        (lambda: CfC(3, 4), {"x": torch.zeros(600, 3)}, r"\(B, T, D\) to run in chunks"),
    ],
)
def test_what_does_not_fit_is_refused(make, options, text):
    given = {"x": torch.zeros(1, 600, 3)} | options
    with pytest.raises(ValueError, match=text):
        make().run_in_chunks(**given)
