"""Train the head together with the network after it, on the images."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from liquidtime.paper.datasets import Sequences
from liquidtime.paper.fitting import Epoch, Training, Trial, fit_network
from liquidtime.paper.models.lane.convolution import Head, scaled, standardised
from liquidtime.training import TrainSettings

JOINT = TrainSettings(
    epochs=1, optimizer="adamw", learning_rate=2e-4, schedule="one_cycle", clip_norm=1.0, monitor="mse"
)
BATCH, WINDOW = 4, 32
"""Number of windows per batch, and of images per window: a step has 128 images."""
EVERY = 4
"""One out of this many windows of the training part is used."""


class Joint(nn.Module):
    """A head and a driver in one network, from images to steering."""

    def __init__(self, head: Head, driver: nn.Module, flat: bool) -> None:
        super().__init__()
        self.head, self.driver, self.flat = head, driver, flat

    def forward(self, batch: Sequences) -> Tensor:
        """Map images (B, T, 3, h, w) uint8 to steering (B, T, 1)."""
        B, T = batch.dt.shape
        flat = self.head.convolutions(standardised(scaled(batch.x.flatten(0, 1))))
        x = flat if self.flat else self.head.features(flat)
        out: Tensor = self.driver(dataclasses.replace(batch, x=x.reshape(B, T, -1)))
        return out


@dataclass(frozen=True)
class Pieces:
    """Windows of images, shorter than those of the part, in an order drawn from the generator of the epoch."""

    part: Sequences
    window: int
    batch_size: int
    every: int

    def __call__(self, epoch: int, generator: torch.Generator) -> Epoch[list[tuple[int, int]], Sequences]:
        """Return the batches of an epoch."""
        starts = [
            (row, low)
            for row, length in enumerate(self.part.lengths.tolist())
            for low in range(0, length - self.window + 1, self.window)
        ]
        if not starts:
            raise ValueError(f"`part` must have a sequence of at least {self.window} images; it has none.")
        order = torch.randperm(len(starts), generator=generator)[: -(-len(starts) // self.every)]
        drawn = [starts[i] for i in order.tolist()]
        return Epoch([drawn[i : i + self.batch_size] for i in range(0, len(drawn), self.batch_size)], self._cut)

    def _cut(self, starts: list[tuple[int, int]]) -> Sequences:
        """Return the windows that begin at (row, step)."""

        def cut(values: Tensor) -> Tensor:
            return torch.stack([values[row, low : low + self.window] for row, low in starts])

        part, rows = self.part, torch.tensor([row for row, _ in starts])
        lengths = torch.full((len(starts),), self.window)
        return Sequences(cut(part.x), cut(part.dt), lengths, cut(part.y), part.ids[rows])


def train_jointly(head: Head, driver: nn.Module, flat: bool, trial: Trial) -> tuple[Head, Training]:
    """Train a copy of the head together with the driver, which is changed in place; return the copy.

    Args:
        head: the shared head, which does not change.
        driver: network after the head.
        flat: whether the driver reads the output of the convolutions.
        trial: trial with the training part and the seed.

    """
    own = copy.deepcopy(head).requires_grad_(True)
    if flat:
        own.dense.requires_grad_(False)
    T = trial.split.test.dt.shape[1]
    training = fit_network(
        Joint(own, driver, flat),
        trial,
        Pieces(trial.split.train, min(WINDOW, T), BATCH, EVERY),
        dataclasses.replace(JOINT, seed=trial.seed),
        held_out=trial.validation,
        folder=trial.folder / "joint",
    )
    return own.requires_grad_(False).eval(), training
