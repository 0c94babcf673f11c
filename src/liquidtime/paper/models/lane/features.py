"""Features of the drives from the frozen head, computed once for all networks."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from liquidtime.paper.datasets import Sequences, Split
from liquidtime.paper.models.lane.convolution import Head, scaled, standardised
from liquidtime.paper.models.lane.corruption import CORRUPTIONS, corrupted

BLOCK = 64


@dataclass(frozen=True)
class Drive:
    """One run, or the section of it in one part.

    Attributes:
        number: number of the run.
        flat: (T, 1920) output of the convolutions.
        features: (T, 64) output of the head.
        dt: (T,) seconds since the previous image.
        y: (T, 1) steering of the human driver.

    """

    number: int
    flat: Tensor
    features: Tensor
    dt: Tensor
    y: Tensor


@dataclass(frozen=True)
class Features:
    """The features of all parts; of the test part also for each corruption, by name."""

    train: list[Drive]
    validation: list[Drive]
    test: list[Drive]
    corrupted: dict[str, list[Drive]]


@functools.lru_cache(maxsize=1)
def features_of(split: Split, head: Head) -> Features:
    """Return the features of every image."""
    held = [] if split.validation is None else drives(split.validation, head)
    return dataclasses.replace(judged_features(split, head), train=drives(split.train, head), validation=held)


def judged_features(split: Split, head: Head) -> Features:
    """Return the features of the test part only; the others are empty."""
    changed = {name: drives(split.test, head, name) for name in CORRUPTIONS}
    return Features([], [], drives(split.test, head), changed)


def drives(part: Sequences, head: Head, corruption: str | None = None) -> list[Drive]:
    """Return the runs of a part, put together from their windows."""
    found = []
    for number in dict.fromkeys(part.ids.tolist()):
        frames, dt, y = run_of(part, number)
        flat, features = [], []
        with torch.no_grad():
            for first in range(0, len(frames), BLOCK):
                images = corrupted(scaled(frames[first : first + BLOCK]), corruption, first)
                flat.append(head.convolutions(standardised(images)))
                features.append(head.features(flat[-1]))
        found.append(Drive(number, torch.cat(flat), torch.cat(features), dt, y))
    return found


def run_of(part: Sequences, number: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return frames (T, 3, h, w), dt (T,) and steering (T, 1) of a run whose windows are consecutive in a part."""
    rows = (part.ids == number).nonzero()[:, 0].tolist()
    lengths = [int(part.lengths[row]) for row in rows]
    frames, dt, y = (
        torch.cat([values[row, :length] for row, length in zip(rows, lengths, strict=True)])
        for values in (part.x, part.dt, part.y)
    )
    return frames, dt, y


def windows(runs: list[Drive], window: int, stride: int, *, flat: bool = False) -> Sequences:
    """Return windows of equal length from every run, one every `stride` images; a shorter run has none.

    Args:
        runs: runs of a part.
        window: T, number of images in a window.
        stride: number of images from the start of a window to that of the next.
        flat: whether x is the output of the convolutions, not the features.

    """
    cut = [(run, low) for run in runs for low in range(0, len(run.dt) - window + 1, stride)]
    if not cut:
        raise ValueError(f"`window` must be at most the longest run's {max(len(run.dt) for run in runs)}; got {window}")

    def stacked(name: str) -> Tensor:
        return torch.stack([getattr(run, name)[low : low + window] for run, low in cut])

    return Sequences(
        stacked("flat" if flat else "features"),
        stacked("dt"),
        torch.full((len(cut),), window),
        stacked("y"),
        torch.tensor([run.number for run, _ in cut]),
    )
