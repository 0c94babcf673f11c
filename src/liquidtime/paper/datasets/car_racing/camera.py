"""The camera of the car: the road ahead from above, as gymnasium draws it, at a small part of the cost.

A track is painted once, as numbers of colours on a fine grid, from which every image takes its pixels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from liquidtime.paper.datasets.car_racing.car import Car

SIZE = (72, 128)
"""Rows and columns of an image, as the paper's head takes them."""
ZOOM = 2.7 * 6.0
"""Pixels per metre in gymnasium's window."""
WINDOW_PIXELS = 7.75
"""Pixels of gymnasium's window per pixel of ours."""
NEAREST = 42.0 / ZOOM
"""Metres from the centre of the car to the lower edge of the image; the front of the car is just below the edge."""
PER_METRE = 4
"""Points of the grid per metre."""
SAMPLES = 2
"""Points of the grid per pixel, in each direction."""
MARGIN = 60.0
"""Metres that are painted around a track; the camera sees less far."""
PATCH = 2000 / 6.0 / 20
"""Side of a patch of grass in metres."""
GROUND, GRASS, ROAD, WHITE, RED = 0, 1, 2, 5, 6
"""Numbers of the colours; the road has three alternating shades."""

Bytes = npt.NDArray[np.uint8]

PALETTES: dict[str, Bytes] = {
    "summer": np.array(
        [[102, 204, 102], [102, 230, 102], [102] * 3, [104] * 3, [107] * 3, [255] * 3, [255, 0, 0]], np.uint8
    ),
    "winter": np.array(
        [[224, 230, 238], [238, 242, 247], [92, 96, 104], [95, 99, 107], [98, 102, 110], [250] * 3, [196, 60, 60]],
        np.uint8,
    ),
}
"""Colours by number; those of summer are gymnasium's."""
PACKED = {
    name: (colours.astype(np.uint32) << np.array([20, 10, 0], np.uint32)).sum(axis=1, dtype=np.uint32)
    for name, colours in PALETTES.items()
}
"""The same as one number per colour, with ten bits each for red, green and blue, so that four can be added at once."""


class Camera:
    """The camera of a car.

    Args:
        car: the car.

    """

    def __init__(self, car: Car) -> None:
        self.car = car
        self.origin = car.track.points.min(axis=0) - MARGIN
        extent = car.track.points.max(axis=0) + MARGIN - self.origin
        self.ground = _painted(car, self.origin, np.ceil(extent * PER_METRE).astype(int))
        h, w = SIZE
        step = WINDOW_PIXELS / ZOOM / SAMPLES
        forward = NEAREST + step * (np.arange(SAMPLES * h)[::-1] + 0.5)
        right = step * (np.arange(SAMPLES * w) + 0.5 - SAMPLES * w / 2)
        grid = np.meshgrid(forward * PER_METRE, right * PER_METRE, indexing="ij")
        self.forward, self.right = (part.astype(np.float32) for part in grid)

    def frame(self, palette: str = "summer") -> Bytes:
        """Return an image (3, 72, 128) of the road ahead from above, with the direction of the car upwards."""
        (x, y), angle = self.car.position, self.car.angle
        sine, cosine = np.float32(np.sin(angle)), np.float32(np.cos(angle))
        columns = cosine * self.right - sine * self.forward + np.float32((x - self.origin[0]) * PER_METRE)
        rows = sine * self.right + cosine * self.forward + np.float32((y - self.origin[1]) * PER_METRE)
        at = rows.astype(np.int32) * np.int32(self.ground.shape[1]) + columns.astype(np.int32)
        colours = PACKED[palette].take(self.ground.ravel().take(at, mode="clip"))
        lines = colours[0::2] + colours[1::2]
        total = lines[:, 0::2] + lines[:, 1::2]
        return np.stack([total >> 22, (total >> 12) & 255, (total >> 2) & 255]).astype(np.uint8)


def _painted(car: Car, origin: npt.NDArray[np.float64], size: npt.NDArray[np.int64]) -> Bytes:
    """Return the grid of colour numbers, with rows along y and columns along x."""
    from PIL import Image, ImageDraw

    image = Image.new("L", (int(size[0]), int(size[1])), GROUND)
    pen = ImageDraw.Draw(image)

    def fill(corners: npt.NDArray[np.float64], number: int) -> None:
        pen.polygon([tuple(corner) for corner in (corners - origin) * PER_METRE - 0.5], fill=number)

    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=np.float64)
    for column in range(-20, 20, 2):
        for row in range(-20, 20, 2):
            fill(PATCH * (square + np.array([column, row])), GRASS)
    road = 0
    for corners, colour in car.environment.road_poly:
        if tuple(colour) in ((255, 255, 255), (255, 0, 0)):
            fill(np.asarray(corners), WHITE if tuple(colour) == (255, 255, 255) else RED)
        else:
            fill(np.asarray(corners), ROAD + road % 3)
            road += 1
    return np.asarray(image)
