"""The training batches of a driving network: windows, some mirrored, some noisy."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from liquidtime.paper.datasets import Sequences
from liquidtime.paper.fitting import Epoch
from liquidtime.paper.models.lane.convolution import scaled
from liquidtime.paper.models.lane.corruption import noisy


@dataclass(frozen=True)
class Windows:
    """Windows in an order drawn from the generator of the epoch, each mirrored with probability 1/2.

    A mirrored window has the opposite steering.

    Attributes:
        data: the windows.
        batch_size: windows per batch.
        noise: whether noise of variance 0.35 is added to the images of half of the batches.

    """

    data: Sequences
    batch_size: int
    noise: bool

    def __call__(self, epoch: int, generator: torch.Generator) -> Epoch[tuple[Tensor, Tensor, int], Sequences]:
        """Return the batches of an epoch."""
        N = len(self.data)
        rows = torch.split(torch.randperm(N, generator=generator), self.batch_size)
        mirrored = torch.split(torch.rand(N, generator=generator) < 0.5, self.batch_size)
        noises = torch.randint(2**31, (len(rows),), generator=generator).tolist()
        return Epoch(list(zip(rows, mirrored, noises, strict=True)), self._batch)

    def _batch(self, key: tuple[Tensor, Tensor, int]) -> Sequences:
        rows, mirrored, number = key
        part = self.data.take(rows)
        turned = mirrored.reshape(-1, 1, 1, 1, 1)
        images = scaled(torch.where(turned, part.x.flip(-1), part.x))
        if self.noise and number % 2:
            images = noisy(images, torch.Generator().manual_seed(number))
        return dataclasses.replace(part, x=images, y=torch.where(turned[..., 0, 0], -part.y, part.y))
