"""Where a convolutional network looks: VisualBackprop."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from liquidtime.paper.models.lane.convolution import Convolutions


def visual_backprop(convolutions: Convolutions, images: Tensor) -> Tensor:
    """Return the attention maps (N, h, w) of standardised images (N, 3, h, w), each stretched to 0…1.

    The maps behind each layer are averaged over their channels, a_l ≥ 0. From the last layer to the first,

        m_L = a_L,   m_(l-1) = a_(l-1) · up_l(m_l),   map = up_1(m_1)

    where up_l spreads every value evenly over the inputs that it was computed from: a transposed convolution with the
    side and the stride of layer l and all weights 1. What is left is where all layers were active. An even map is 0.
    (Bojarski et al. 2018)

    Args:
        convolutions: of the network.
        images: as the network is given them.

    """
    with torch.no_grad():
        averages = [found.mean(dim=1, keepdim=True) for found in convolutions.maps(images)]
        sizes = [tuple(images.shape[2:]), *(tuple(average.shape[2:]) for average in averages)]
        mask = averages[-1]
        for index in reversed(range(len(averages))):
            mask = _spread(mask, convolutions.convolutions()[index], sizes[index])
            if index:
                mask = mask * averages[index - 1]
    flat = mask.flatten(1)
    low, high = flat.min(dim=1, keepdim=True).values, flat.max(dim=1, keepdim=True).values
    stretched = (flat - low) / (high - low).clamp(min=torch.finfo(flat.dtype).tiny)
    return stretched.reshape(len(images), *images.shape[2:])


def likeness(a: Tensor, b: Tensor) -> Tensor:
    """Return the correlation of the pixels of maps a and b (N, h, w), one each; 0 where one of them is even."""
    x, y = a.flatten(1), b.flatten(1)
    x, y = x - x.mean(dim=1, keepdim=True), y - y.mean(dim=1, keepdim=True)
    size = (x.square().sum(dim=1) * y.square().sum(dim=1)).sqrt()
    return (x * y).sum(dim=1) / size.clamp(min=torch.finfo(x.dtype).tiny)


def _spread(mask: Tensor, layer: nn.Conv2d, size: tuple[int, ...]) -> Tensor:
    """Return mask (N, 1, ·, ·) behind a layer spread over that layer's inputs, (N, 1, *size)."""
    side, stride = layer.kernel_size[0], layer.stride[0]
    reached = [(extent - 1) * stride + side for extent in mask.shape[2:]]
    rest = [wanted - got for wanted, got in zip(size, reached, strict=True)]
    spread: Tensor = nn.functional.conv_transpose2d(
        mask, torch.ones(1, 1, side, side), stride=stride, output_padding=(rest[0], rest[1])
    )
    return spread
