"""What the peer fails on obscurely, or takes in silence, is refused by name."""

import pytest
import torch

from liquidtime.compat.ncps.torch import LTC, CfC, CfCCell, LTCCell
from liquidtime.compat.ncps.wirings import AutoNCP, FullyConnected

X = torch.zeros(5, 6, 3)


@pytest.mark.parametrize(
    ("hx", "timespans", "error", "text"),
    [
        (None, torch.ones(6, 5), ValueError, r"`timespans` must have shape \(B, T\) = \(5, 6\); got \(6, 5\)"),
        (None, -torch.ones(5, 6), ValueError, "`timespans` must be finite and at least 0; 30 of 30"),
        (None, "1", TypeError, "`timespans` must be a tensor, a number or None"),
        (torch.zeros(1, 5, 8), None, ValueError, r"`hx` must have shape \(B, H\) = \(5, 8\); got \(1, 5, 8\)"),
        ((torch.zeros(5, 8), torch.zeros(5, 8)), None, TypeError, "`hx` must be a tensor without mixed_memory"),
    ],
)
def test_calls(hx, timespans, error, text):
    for network in (CfC(3, 8), LTC(3, 8)):
        with pytest.raises(error, match=text):
            network(X, hx, timespans)


def test_more_calls():
    with pytest.raises(TypeError, match=r"`hx` must be a pair \(h, c\) of tensors with mixed_memory; got Tensor"):
        CfC(3, 8, mixed_memory=True)(X, torch.zeros(5, 8))
    with pytest.raises(ValueError, match=r"`input` must have shape \(B, T, D\) = \(5, 6, 3\)"):
        CfC(3, 8)(torch.zeros(5, 6, 4))
    with pytest.raises(ValueError, match=r"`input` must have shape .*; got \(3,\)"):
        CfC(3, 8)(torch.zeros(3))
    with pytest.raises(ValueError, match="at least one sample"):
        CfC(3, 8, return_sequences=False)(torch.zeros(5, 0, 3))
    with pytest.raises(ValueError, match=r"`elapsed_time` must have shape \(B,\) = \(5,\); got \(4,\)"):
        LTCCell(FullyConnected(8), 3)(torch.zeros(5, 3), torch.zeros(5, 8), torch.ones(4))


def test_an_empty_sequence_leaves_the_state():
    state = torch.randn(5, 8)
    y, after = CfC(3, 8)(torch.zeros(5, 0, 3), state)
    assert y.shape == (5, 0, 8)
    assert torch.equal(after, state)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: CfC(3, 8, mode="gated"), "`mode` must be one of 'default', 'pure', 'no_gate'"),
        (lambda: CfC(3, 8, activation="elu"), "`backbone_activation` must be one of"),
        (lambda: CfC(3, AutoNCP(16, 4), backbone_units=8), "`backbone_units` has no effect with a wiring"),
        (lambda: CfC(3, FullyConnected(8, 4), proj_size=2), "4 motor neurons in a layer of 8"),
        (lambda: CfCCell(3, 8, backbone_layers=0, sparsity_mask=torch.ones(8, 11)), r"\(D \+ H, H\) = \(11, 8\)"),
        (lambda: LTC(3, 8, input_mapping="none"), "`input_mapping` must be one of 'affine', 'linear', 'None'"),
        (lambda: LTC(3, 8, ode_unfolds=0), "`unfolds` must be at least 1"),
    ],
)
def test_constructors(make, text):
    with pytest.raises(ValueError, match=text):
        make()
