import numpy as np
import torch

from liquidtime import CfC
from liquidtime.cells import GRUCell
from liquidtime.evaluation.insight.time_constants import time_constants
from liquidtime.layers import Recurrent


def inputs(D=3):
    x, dt = torch.randn(4, 6, D), torch.rand(4, 6)
    return x, dt, torch.tensor([6, 2, 1, 0])


def test_time_scales_are_those_that_were_put_in():
    """With heads that see nothing but their bias, the gate's rate is the bias."""
    layer = CfC(3, 5)
    rates = torch.tensor([0.5, -1.0, 2.0, 4.0, -10.0])
    with torch.no_grad():
        layer.cells[0].heads.weight.zero_()
        layer.cells[0].heads.bias[10:15] = rates
    np.testing.assert_allclose(time_constants(layer, *inputs()), 1 / rates.abs().numpy(), rtol=1e-6)


def test_they_are_medians_over_the_samples_of_a_run():
    layer = CfC(3, 5)
    x, dt, lengths = inputs()
    seen = []
    for row, length in enumerate(lengths.tolist()):
        h = torch.zeros(1, 5)
        for step in range(length):
            seen.append(layer.cells[0].head_values(x[row, step : step + 1], h)[2].detach().abs())
            h, _ = layer.cells[0](x[row, step : step + 1], (h,), dt[row, step : step + 1])
    expected = (1 / torch.cat(seen)).median(dim=0).values.numpy()
    np.testing.assert_allclose(time_constants(layer, x, dt, lengths), expected, rtol=1e-4)


def test_every_layer_has_its_own_and_other_cells_have_none():
    assert len(time_constants(CfC(3, 5, num_layers=2), *inputs())) == 10
    assert time_constants(Recurrent(lambda width: GRUCell(width, 5), 3), *inputs()) is None
    x, dt, _ = inputs()
    assert time_constants(CfC(3, 5), x, dt, torch.zeros(4, dtype=torch.int64)) is None
