"""The convolutional head of the lane-keeping networks: 72 x 128 images to 64 features."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from liquidtime.errors import wrong_shape

LAYERS = ((3, 24, 5, 2), (24, 36, 5, 2), (36, 48, 3, 2), (48, 64, 3, 1), (64, 64, 3, 1))
"""Input channels, output channels, side of the kernel, stride."""
SIZE = (72, 128)
FLAT, FEATURES = 1_920, 64


class Convolutions(nn.Module):
    """Five convolutions, each followed by max(0, ·)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(i, o, side, stride) for i, o, side, stride in LAYERS)
        for layer in self.convolutions():
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def convolutions(self) -> list[nn.Conv2d]:
        """Return the layers in order."""
        return [cast(nn.Conv2d, layer) for layer in self.layers]

    def maps(self, images: Tensor) -> list[Tensor]:
        """Return the feature maps (N, channels, ·, ·) after each layer, from standardised images (N, 3, 72, 128)."""
        if tuple(images.shape[1:]) != (3, *SIZE):
            raise wrong_shape("images", "(N, 3, h, w)", [len(images), 3, *SIZE], images.shape, "The paper's size.")
        found = []
        x = images.contiguous(memory_format=torch.channels_last)
        for layer in self.convolutions():
            x = torch.relu(layer(x))
            found.append(x)
        return found

    def forward(self, images: Tensor) -> Tensor:
        """Map standardised images (N, 3, 72, 128) to (N, 1920)."""
        return self.maps(images)[-1].flatten(1)


class Head(nn.Module):
    """Convolutions and a dense layer: 64 features in -1…1 per image, tanh(W·flat + b). 226,644 weights."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = Convolutions()
        self.dense = nn.Linear(FLAT, FEATURES)
        nn.init.xavier_uniform_(self.dense.weight)
        nn.init.zeros_(self.dense.bias)

    def features(self, flat: Tensor) -> Tensor:
        """Map the output of the convolutions (N, 1920) to (N, 64)."""
        return torch.tanh(self.dense(flat))

    def forward(self, images: Tensor) -> Tensor:
        """Map standardised images (N, 3, 72, 128) to (N, 64)."""
        return self.features(self.convolutions(images))


def scaled(frames: Tensor) -> Tensor:
    """Return frames (N, 3, h, w) uint8 as float32 in 0…1."""
    return frames.float() / 255


def standardised(images: Tensor) -> Tensor:
    """Return images (N, 3, h, w) with mean 0 and deviation 1 of each; constant images become 0."""
    mean = images.mean(dim=(1, 2, 3), keepdim=True)
    deviation = images.std(dim=(1, 2, 3), keepdim=True, correction=0)
    return (images - mean) / deviation.clamp(min=1e-3)
