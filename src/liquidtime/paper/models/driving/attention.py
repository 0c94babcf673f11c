"""Where a driving network looks: in summer and winter, without and with noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from liquidtime.evaluation.insight import visual_backprop
from liquidtime.paper.models.driving.judging import camera_of
from liquidtime.paper.models.lane.attention import save_tiles
from liquidtime.paper.models.lane.convolution import Convolutions, scaled, standardised
from liquidtime.paper.models.lane.corruption import corrupted
from liquidtime.paper.models.lane.likeness import likeness

PLACES = 24
"""Pictures over which maps are compared, evenly along the first test tracks."""
SHOWN = (5, 14)
"""Those of them that are kept."""
INPUT = "input"


def keep_attention(name: str, convolutions: Convolutions, kept: Path, tracks: list[int]) -> dict[str, Any]:
    """Return how alike maps are with noise and in winter to those without, in summer; keep some of them as an image.

    The columns of the image are summer, summer with noise, winter, winter with noise.

    Args:
        name: of the row, in the file's name.
        convolutions: of the network.
        kept: folder of the image.
        tracks: seeds of the test tracks.

    """
    pictures = []
    for palette in ("summer", "winter"):
        images = scaled(torch.from_numpy(places(tracks, palette)))
        pictures += [images, corrupted(images, "noise")]
    maps = [visual_backprop(convolutions, standardised(images)) for images in pictures]
    shown = list(SHOWN)
    save_tiles(tiles_file(kept, name), [part[shown] for part in maps])
    save_tiles(tiles_file(kept, INPUT), [part[shown].clamp(0, 1) for part in pictures])
    names = ("summer", "noise", "winter", "winter_noise")
    return {
        "attention_kept": {
            n: float(likeness(maps[0], part).mean()) for n, part in zip(names[1:], maps[1:], strict=True)
        }
    }


def places(tracks: list[int], palette: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return pictures (PLACES, 3, h, w) from the centre line."""
    frames = []
    for number in range(PLACES):
        camera = camera_of(tracks[number % len(tracks)])
        camera.car.put(camera.car.track.length * (0.1 + 0.8 * number / PLACES))
        frames.append(camera.frame(palette))
    return np.stack(frames)


def tiles_file(kept: Path, name: str) -> Path:
    """Return where the maps of a row are kept."""
    return kept / f"driving-attention-{name}.png"
