"""The maps equal those of loops over every pixel, and are bright where the layers were active."""

import numpy as np
import pytest
import torch
from torch import nn

from liquidtime.evaluation.insight import visual_backprop
from liquidtime.paper.models.lane.convolution import Convolutions


def spread_by_hand(mask, side, stride, size):
    """Add each value of a mask (h, w) to all the inputs that it was computed from."""
    found = np.zeros(size)
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            found[i * stride : i * stride + side, j * stride : j * stride + side] += mask[i, j]
    return found


def test_maps_are_those_of_loops():
    torch.manual_seed(0)
    network = Convolutions()
    image = torch.randn(1, 3, 72, 128)
    with torch.no_grad():
        averages = [found[0].mean(dim=0).double().numpy() for found in network.maps(image)]
    sides, strides = (5, 5, 3, 3, 3), (2, 2, 2, 1, 1)
    mask = averages[-1]
    for layer in (4, 3, 2, 1, 0):
        size = (72, 128) if layer == 0 else averages[layer - 1].shape
        mask = spread_by_hand(mask, sides[layer], strides[layer], size)
        if layer:
            mask = mask * averages[layer - 1]
    expected = (mask - mask.min()) / (mask.max() - mask.min())
    np.testing.assert_allclose(visual_backprop(network, image)[0].numpy(), expected, atol=1e-4)


def test_attention_is_where_the_layers_were_active():
    network = Convolutions()
    with torch.no_grad():
        for layer in network.layers:
            layer.weight.fill_(0.1)
    images = torch.zeros(2, 3, 72, 128)
    images[0, :, 8:20, 8:24] = 1
    images[1, :, 48:60, 96:112] = 1
    maps = visual_backprop(network, images)
    for found, rows, columns in zip(maps, ((8, 20), (48, 60)), ((8, 24), (96, 112)), strict=True):
        row, column = divmod(int(found.argmax()), 128)
        assert rows[0] - 4 <= row < rows[1] + 4
        assert columns[0] - 4 <= column < columns[1] + 4
        assert float(found.max()) == 1
        assert float(found.min()) == 0
    assert float(visual_backprop(network, torch.zeros(1, 3, 72, 128)).abs().max()) == 0


def test_padding_dilation_pooling_and_unequal_sides():
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 4, (3, 5), stride=(1, 2), padding=(1, 2)),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 3, 3, padding="same", dilation=2),
        nn.ReLU(),
        nn.Flatten(),
    )
    with torch.no_grad():
        for layer in (network[0], network[3]):
            layer.weight.fill_(0.1)
            layer.bias.zero_()
    images = torch.zeros(1, 1, 24, 40)
    images[0, 0, 4:8, 30:34] = 1
    found = visual_backprop(network, images)
    assert found.shape == (1, 24, 40)
    row, column = divmod(int(found.argmax()), 40)
    assert 0 <= row < 14
    assert 22 <= column < 40
    assert not network[0]._forward_hooks


def test_refusals():
    with pytest.raises(ValueError, match="must have convolutions"):
        visual_backprop(nn.Linear(4, 2), torch.zeros(1, 1, 4, 4))
    with pytest.raises(ValueError, match=r"\(N, C, h, w\); got \(4, 4\)"):
        visual_backprop(nn.Conv2d(1, 1, 2), torch.zeros(4, 4))
