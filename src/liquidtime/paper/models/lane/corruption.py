"""Corruptions of images before a network sees them: noise, brightness, blur."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

VARIANCE = 0.35
"""Variance of the paper's noise. The paper does not say in which units; here, of pixels in 0…1, and also in units of
the deviation of each image, which is much less."""
DEVIATION: float = VARIANCE**0.5
SHIFT = 0.3
SPREAD, REACH = 1.5, 4
"""Deviation and range of the blur in pixels."""
SEED = 0


def noisy(images: Tensor, generator: torch.Generator) -> Tensor:
    """Add noise of variance 0.35 to pixels in 0…1; without clipping, so that its mean is 0."""
    return images + DEVIATION * torch.randn(images.shape, generator=generator)


def mildly_noisy(images: Tensor, generator: torch.Generator) -> Tensor:
    """Add noise of 0.35 times the variance of each image, which is variance 0.35 after standardisation."""
    deviation = images.std(dim=(1, 2, 3), keepdim=True, correction=0)
    return images + deviation * DEVIATION * torch.randn(images.shape, generator=generator)


def brighter(images: Tensor, generator: torch.Generator) -> Tensor:
    """Add 0.3 to every pixel and clip at 1."""
    return (images + SHIFT).clamp(0, 1)


def darker(images: Tensor, generator: torch.Generator) -> Tensor:
    """Subtract 0.3 from every pixel and clip at 0."""
    return (images - SHIFT).clamp(0, 1)


def blurred(images: Tensor, generator: torch.Generator) -> Tensor:
    """Blur by a Gaussian of 1.5 pixels; edges are continued beyond the image."""
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
"""Corruptions by their names in result files: images (N, 3, h, w) in 0…1 and a generator -> images."""


def corrupted(images: Tensor, name: str | None, first: int = 0) -> Tensor:
    """Return corrupted images (N, 3, h, w) in 0…1; the same at every call.

    Args:
        images: block of a run.
        name: one of `CORRUPTIONS`, or None.
        first: position of the first image of the block in the run, which determines the noise.

    """
    if name is None:
        return images
    generator = torch.Generator().manual_seed(SEED + first)
    return CORRUPTIONS[name](images, generator)
