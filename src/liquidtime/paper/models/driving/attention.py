"""Attention maps of a driving network in summer and winter, without and with noise."""

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
"""Number of images over which maps are compared, spread evenly along the first test tracks."""
AHEAD = 25.0
"""Metres over which a bend is measured; images of the sharpest bends to the left and to the right are stored."""
INPUT = "input"


def keep_attention(name: str, convolutions: Convolutions, folder: Path, tracks: list[int]) -> dict[str, Any]:
    """Return the similarity of maps with noise and in winter to those without noise in summer; store some as an image.

    The columns of the image are summer, summer with noise, winter, winter with noise.

    Args:
        name: name of the row, for the file name.
        convolutions: convolutions of the network.
        folder: folder for the image.
        tracks: seeds of the test tracks.

    """
    pictures, shown = [], sharpest(tracks)
    for palette in ("summer", "winter"):
        images = scaled(torch.from_numpy(places(tracks, palette)))
        pictures += [images, corrupted(images, "noise")]
    maps = [visual_backprop(convolutions, standardised(images)) for images in pictures]
    save_tiles(tiles_file(folder, name), [part[shown] for part in maps])
    save_tiles(tiles_file(folder, INPUT), [part[shown].clamp(0, 1) for part in pictures])
    names = ("summer", "noise", "winter", "winter_noise")
    return {
        "attention_kept": {
            n: float(likeness(maps[0], part).mean()) for n, part in zip(names[1:], maps[1:], strict=True)
        }
    }


def places(tracks: list[int], palette: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return images (PLACES, 3, h, w) from places on the centre line."""
    frames = []
    for track, along in _along(tracks):
        camera = camera_of(track)
        camera.car.put(along)
        frames.append(camera.frame(palette))
    return np.stack(frames)


def sharpest(tracks: list[int]) -> list[int]:
    """Return the places before the sharpest bends to the left and to the right."""
    bends = []
    for track, along in _along(tracks):
        line = camera_of(track).car.track
        turn = line.point(along + AHEAD)[1] - line.point(along)[1]
        bends.append(np.arctan2(np.sin(turn), np.cos(turn)))
    return [int(np.argmax(bends)), int(np.argmin(bends))]


def _along(tracks: list[int]) -> list[tuple[int, float]]:
    """Return the track of each place and the metres along it."""
    chosen = [tracks[number % len(tracks)] for number in range(PLACES)]
    lengths = [camera_of(track).car.track.length for track in chosen]
    return [(chosen[n], lengths[n] * (0.1 + 0.8 * n / PLACES)) for n in range(PLACES)]


def tiles_file(folder: Path, name: str) -> Path:
    """Return the path of the maps of a row."""
    return folder / f"driving-attention-{name}.png"
