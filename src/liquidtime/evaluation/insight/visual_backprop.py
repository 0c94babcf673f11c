"""Attention maps of convolutional networks: VisualBackprop."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def visual_backprop(network: nn.Module, images: Tensor, activation: Callable[[Tensor], Tensor] = torch.relu) -> Tensor:
    """Return the attention maps (N, h, w) of images (N, C, h, w), each scaled to 0…1.

    The maps after each convolution are averaged over their channels, a_l ≥ 0. From the last layer to the first,

        m_L = a_L,   m_(l-1) = a_(l-1) · up_l(m_l),   map = up_1(m_1)

    where up_l distributes every value evenly over the inputs that it was computed from: a transposed convolution with
    the kernel size, stride, padding and dilation of layer l and all weights 1. If something between two convolutions,
    such as pooling, changes the size, the nearest value is used. The result is large where all layers were active. A
    constant map becomes 0. (Bojarski et al. 2018)

    Args:
        network: any network whose convolutions (`nn.Conv2d`) follow each other; it is run once, in its current mode.
        images: images in the form that the network reads.
        activation: function after each convolution.

    Raises:
        ValueError: the images have another shape, or the network has no convolutions.

    """
    if images.dim() != 4:
        raise ValueError(f"`images` must have shape (N, C, h, w); got {tuple(images.shape)}")
    seen = _convolutions_of(network, images)
    if not seen:
        raise ValueError("`network` must have convolutions (nn.Conv2d) that run; it has none")
    with torch.no_grad():
        averages = [activation(output).mean(dim=1, keepdim=True) for _, _, output in seen]
        mask = averages[-1]
        for index in reversed(range(len(seen))):
            layer, size, _ = seen[index]
            mask = _spread(mask, layer, size)
            below = averages[index - 1] if index else images[:, :1]
            if mask.shape[2:] != below.shape[2:]:
                mask = nn.functional.interpolate(mask, size=below.shape[2:], mode="nearest")
            if index:
                mask = mask * below
    flat = mask.flatten(1)
    low, high = flat.min(dim=1, keepdim=True).values, flat.max(dim=1, keepdim=True).values
    stretched = (flat - low) / (high - low).clamp(min=torch.finfo(flat.dtype).tiny)
    return stretched.reshape(len(images), *images.shape[2:])


def _convolutions_of(network: nn.Module, images: Tensor) -> list[tuple[nn.Conv2d, tuple[int, int], Tensor]]:
    """Return the convolutions in the order in which they run, with the sizes of their inputs, and their outputs."""
    seen: list[tuple[nn.Conv2d, tuple[int, int], Tensor]] = []

    def note(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(layer, nn.Conv2d)
        seen.append((layer, (inputs[0].shape[2], inputs[0].shape[3]), output))

    hooks = [layer.register_forward_hook(note) for layer in network.modules() if isinstance(layer, nn.Conv2d)]
    try:
        with torch.no_grad():
            network(images)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def _spread(mask: Tensor, layer: nn.Conv2d, size: tuple[int, int]) -> Tensor:
    """Return a mask (N, 1, ·, ·) after a layer, distributed over that layer's inputs, (N, 1, *size)."""
    padding = layer.padding if isinstance(layer.padding, tuple) else (0, 0)
    if layer.padding == "same":
        reach = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size, strict=True)]
        padding = (reach[0] // 2, reach[1] // 2)
    reached = [
        (extent - 1) * stride - 2 * pad + dilation * (side - 1) + 1
        for extent, stride, pad, dilation, side in zip(
            mask.shape[2:], layer.stride, padding, layer.dilation, layer.kernel_size, strict=True
        )
    ]
    rest = [max(wanted - got, 0) for wanted, got in zip(size, reached, strict=True)]
    spread: Tensor = nn.functional.conv_transpose2d(
        mask,
        mask.new_ones(1, 1, *layer.kernel_size),
        stride=layer.stride,
        padding=padding,
        output_padding=(rest[0], rest[1]),
        dilation=layer.dilation,
    )
    return spread[:, :, : size[0], : size[1]]
