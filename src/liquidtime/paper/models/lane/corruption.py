"""What is done to images before a network sees them: noise, brightness, blur."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

VARIANCE = 0.35
"""Of the paper's noise. It does not say of which pixels; here of pixels in 0…1, and once more in units of an image's
own deviation, which is much less."""
DEVIATION: float = VARIANCE**0.5
SHIFT = 0.3
SPREAD, REACH = 1.5, 4
"""Deviation of the blur in pixels, and how far it reaches."""
SEED = 0


def noisy(images: Tensor, generator: torch.Generator) -> Tensor:
    """Add noise of variance 0.35 to pixels in 0…1; nothing is clipped, so its mean stays 0."""
    return images + DEVIATION * torch.randn(images.shape, generator=generator)


def mildly_noisy(images: Tensor, generator: torch.Generator) -> Tensor:
    """Add noise of 0.35 times the variance of each image: variance 0.35 once the image is standardised."""
    deviation = images.std(dim=(1, 2, 3), keepdim=True, correction=0)
    return images + deviation * DEVIATION * torch.randn(images.shape, generator=generator)


def brighter(images: Tensor, generator: torch.Generator) -> Tensor:
    """Add 0.3 to every pixel and cut at 1."""
    return (images + SHIFT).clamp(0, 1)


def darker(images: Tensor, generator: torch.Generator) -> Tensor:
    """Take 0.3 from every pixel and cut at 0."""
    return (images - SHIFT).clamp(0, 1)


def blurred(images: Tensor, generator: torch.Generator) -> Tensor:
    """Blur by a Gaussian of 1.5 pixels; beyond an edge the edge goes on."""
    at = torch.arange(-REACH, REACH + 1, dtype=images.dtype)
    weights = torch.exp(-0.5 * (at / SPREAD) ** 2)
    weights = weights / weights.sum()
    channels = images.shape[1]
    wide = functional.pad(images, (REACH, REACH, REACH, REACH), mode="replicate")
    across = functional.conv2d(wide, weights.reshape(1, 1, 1, -1).expand(channels, -1, -1, -1), groups=channels)
    return functional.conv2d(across, weights.reshape(1, 1, -1, 1).expand(channels, -1, -1, -1), groups=channels)


CORRUPTIONS: dict[str, Callable[[Tensor, torch.Generator], Tensor]] = {
    "noise": noisy,
    "mild_noise": mildly_noisy,
    "brighter": brighter,
    "darker": darker,
    "blur": blurred,
}
"""By name in result files: images (N, 3, h, w) in 0…1 and a generator -> images."""


def corrupted(images: Tensor, name: str | None, first: int = 0) -> Tensor:
    """Return images (N, 3, h, w) in 0…1 as a network is shown them; the same at every call.

    Args:
        images: a block of a run.
        name: of `CORRUPTIONS`, or None for none.
        first: the place of the block's first image in the run, from which its noise is drawn.

    """
    if name is None:
        return images
    generator = torch.Generator().manual_seed(SEED + first)
    return CORRUPTIONS[name](images, generator)
