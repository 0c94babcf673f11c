"""Trains the head along with what is behind it, on the images."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from liquidtime.paper.datasets import Sequences
from liquidtime.paper.fitting import Run, predict
from liquidtime.paper.lane.convolution import Head, scaled, standardised
from liquidtime.training import TrainResult, TrainSettings, train

JOINT = TrainSettings(
    epochs=1, optimizer="adamw", learning_rate=2e-4, schedule="one_cycle", clip_norm=1.0, monitor="mse"
)
BATCH, WINDOW = 4, 32
"""Windows a batch, and images a window: a whole step has 128 images."""
EVERY = 4
"""Of the windows of the training part, one in so many is used."""


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
    """Windows of images, shorter than the part's own, in an order drawn from the epoch's generator."""

    part: Sequences
    window: int
    batch_size: int
    every: int

    def __call__(self, epoch: int, generator: torch.Generator) -> _Epoch:
        """Return the batches of an epoch."""
        found = [
            (row, low)
            for row, length in enumerate(self.part.lengths.tolist())
            for low in range(0, length - self.window + 1, self.window)
        ]
        if not found:
            raise ValueError(f"`part` must have a sequence of at least {self.window} images; it has none.")
        order = torch.randperm(len(found), generator=generator)[: -(-len(found) // self.every)]
        return _Epoch(self.part, self.window, [found[i] for i in order.tolist()], self.batch_size)


@dataclass(frozen=True)
class _Epoch:
    part: Sequences
    window: int
    places: list[tuple[int, int]]
    batch_size: int

    def __len__(self) -> int:
        return -(-len(self.places) // self.batch_size)

    def __iter__(self) -> Iterator[Sequences]:
        for first in range(0, len(self.places), self.batch_size):
            places = self.places[first : first + self.batch_size]

            def cut(values: Tensor, places: list[tuple[int, int]] = places) -> Tensor:
                return torch.stack([values[row, low : low + self.window] for row, low in places])

            rows = torch.tensor([row for row, _ in places])
            lengths = torch.full((len(places),), self.window)
            part = self.part
            yield Sequences(cut(part.x), cut(part.dt), lengths, cut(part.y), part.ids[rows])


def train_jointly(head: Head, driver: nn.Module, flat: bool, run: Run) -> tuple[Head, TrainResult]:
    """Train a copy of the head together with the driver, which is trained in place; return the copy.

    Args:
        head: the shared one, which stays as it is.
        driver: what is behind it.
        flat: whether the driver reads what is behind the convolutions.
        run: whose training part and seed.

    """
    own = copy.deepcopy(head).requires_grad_(True)
    if flat:
        own.dense.requires_grad_(False)
    T = run.split.test.dt.shape[1]
    pieces = Pieces(run.split.train, min(WINDOW, T), BATCH, EVERY)

    def objective(model: nn.Module, batch: Sequences) -> Any:
        return run.task.loss(model(batch), batch, None)

    held = run.split.validation
    if held is None:
        raise ValueError("the head's epoch is chosen on a validation part; this split has none.")

    def validate(model: nn.Module) -> dict[str, float]:
        return {"mse": run.task.score(run.task.target(held), predict(model, run.task, held))}

    result = train(
        Joint(own, driver, flat),
        objective,
        pieces,
        dataclasses.replace(JOINT, seed=run.seed),
        validate=validate,
        folder=run.folder / "joint",
        resume=True,
        progress=run.progress,
    )
    return own.requires_grad_(False).eval(), result
