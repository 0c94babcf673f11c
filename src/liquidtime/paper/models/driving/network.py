"""A network that steers by images, and the policy that it forms in a driving car."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from liquidtime.paper.datasets import Sequences
from liquidtime.paper.models.lane.convolution import Convolutions, Head, scaled, standardised

See = Callable[[Tensor], Tensor]
"""Images (N, 3, h, w) in 0…1 -> images as the network sees them."""


class SteeringNetwork(nn.Module):
    """The paper's head, or only its convolutions, followed by a network from features at irregular times to steering.

    In training, the head computes in bfloat16, which takes little more than half the time; it drives in float32.

    Args:
        eyes: `Head` or `Convolutions`.
        network: a layer of `liquidtime` with one output; or a network of single images.
        time_scale: factor on seconds.

    """

    def __init__(self, eyes: Head | Convolutions, network: nn.Module, time_scale: float) -> None:
        super().__init__()
        self.eyes = eyes
        self.network = network
        self.time_scale = time_scale

    @property
    def convolutions(self) -> Convolutions:
        """The part whose attention maps are computed."""
        return self.eyes.convolutions if isinstance(self.eyes, Head) else self.eyes

    def forward(self, batch: Sequences) -> Tensor:
        """Map sequences of images (B, T, 3, h, w), uint8 or in 0…1, to steering (B, T, 1)."""
        B, T = batch.dt.shape
        images = batch.x.flatten(0, 1)
        features = self.features(images if images.is_floating_point() else scaled(images)).reshape(B, T, -1)
        if isinstance(self.network, nn.Sequential):
            return cast(Tensor, self.network(features))
        y: Tensor = self.network(features, dt=self.time_scale * batch.dt, lengths=batch.lengths)[0]
        return y

    def features(self, images: Tensor) -> Tensor:
        """Map images (N, 3, h, w) in 0…1 to features (N, ·)."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.training):
            features: Tensor = self.eyes(standardised(images))
        return features.float()

    def step(self, images: Tensor, state: Any, dt: Tensor) -> tuple[Tensor, Any]:
        """Map images (N, 3, h, w) in 0…1 and seconds (N,) since the last ones to steering (N,) and the new state."""
        features = self.features(images)
        if isinstance(self.network, nn.Sequential):
            return self.network(features)[:, 0], None
        y, state = cast(Any, self.network).step(features, state, self.time_scale * dt)
        return y[:, 0], state


class Pilot:
    """A policy for `datasets.car_racing.drive`: the network with the states of all cars.

    Args:
        network: network that steers.
        see: change of the images before the network sees them.

    """

    def __init__(self, network: SteeringNetwork, see: See = lambda images: images) -> None:
        self.network = network.eval()
        self.see = see
        self.state: Any = None

    def __call__(self, frames: npt.NDArray[np.uint8], dt: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the commands (N,) of cars, clipped to -1…1."""
        with torch.no_grad():
            images = self.see(scaled(torch.from_numpy(frames)))
            y, self.state = self.network.step(images, self.state, torch.from_numpy(dt).float())
        return y.double().clamp(-1.0, 1.0).numpy()
