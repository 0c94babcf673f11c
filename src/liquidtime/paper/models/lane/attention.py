"""Attention maps of a network with and without noise, for the table and the figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.evaluation.insight import visual_backprop
from liquidtime.paper.fitting import Trial
from liquidtime.paper.models.lane.convolution import Convolutions, scaled, standardised
from liquidtime.paper.models.lane.corruption import corrupted
from liquidtime.paper.models.lane.features import run_of
from liquidtime.paper.models.lane.likeness import likeness

NOISE = "noise"
SHOWN, COMPARED = 3, 24
"""Number of images in the figure, and of images over which maps with and without noise are compared."""
INPUT = "input"


def keep_attention(name: str, convolutions: Convolutions, trial: Trial) -> dict[str, Any]:
    """Return the similarity of attention maps with and without noise, and store some maps as an image.

    Args:
        name: name of the network, for the file name.
        convolutions: convolutions of the network.
        trial: trial with the test part; maps are stored in its folder `kept`, if it has one.

    """
    images = scaled(evenly(frames_along(trial), COMPARED))
    noisy = corrupted(images, NOISE)
    mild = corrupted(images, "mild_noise")
    clean = visual_backprop(convolutions, standardised(images))
    loud = visual_backprop(convolutions, standardised(noisy))
    soft = visual_backprop(convolutions, standardised(mild))
    if trial.kept is not None:
        at = torch.linspace(0, len(images) - 1, SHOWN + 2).round().long()[1:-1]
        save_tiles(tiles_file(trial.kept, name), [clean[at], soft[at], loud[at]])
        shown = [images[at], mild[at].clamp(0, 1), noisy[at].clamp(0, 1)]
        save_tiles(tiles_file(trial.kept, INPUT), shown)
    return {
        "attention_kept": {
            "noise": float(likeness(clean, loud).mean()),
            "mild_noise": float(likeness(clean, soft).mean()),
        }
    }


def frames_along(trial: Trial) -> Tensor:
    """Return the images (T, 3, h, w) of the first run of the test part."""
    part = trial.split.test
    return run_of(part, int(part.ids[0]))[0]


def evenly(frames: Tensor, count: int) -> Tensor:
    """Return `count` of the frames, evenly spread."""
    return frames[torch.linspace(0, len(frames) - 1, min(count, len(frames))).round().long()]


def tiles_file(folder: Path, name: str) -> Path:
    """Return the path of the maps of a network."""
    return folder / f"attention-{name}.png"


def save_tiles(path: Path, columns: list[Tensor]) -> None:
    """Write maps (n, h, w) or images (n, 3, h, w) in 0…1 as one image: one column per entry, from top to bottom."""
    from PIL import Image

    pixels = torch.cat([torch.cat(list(column), dim=-2) for column in columns], dim=-1)
    whole = (255 * pixels).round().to(torch.uint8).numpy()
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(whole if whole.ndim == 2 else np.ascontiguousarray(whole.transpose(1, 2, 0))).save(path)


def read_tiles(path: Path, size: tuple[int, int]) -> list[list[npt.NDArray[np.uint8]]]:
    """Return the images of `save_tiles`, by column, from top to bottom; (h, w) or (h, w, 3) each."""
    from PIL import Image

    whole = np.asarray(Image.open(path))
    h, w = size
    return [
        [whole[row : row + h, column : column + w] for row in range(0, whole.shape[0], h)]
        for column in range(0, whole.shape[1], w)
    ]
