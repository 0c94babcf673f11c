"""The centre line of a track: its points and directions, and the position of a car relative to it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

HALF_WIDTH = 40 / 6.0
"""Distance from the centre line to the edge of the road, metres."""
REACH = 8
"""The nearest point is searched among this many before and after the last one, as a track may pass close to itself."""


@dataclass(frozen=True, eq=False)
class Place:
    """The position of a car relative to its track.

    Attributes:
        index: number of the last point of the centre line that the car has reached.
        along: metres from the first point of the track, along the centre line.
        lateral: metres to the right of the centre line.
        heading: radians to the right of the direction of the track.

    """

    index: int
    along: float
    lateral: float
    heading: float


@dataclass(frozen=True, eq=False)
class Track:
    """A closed centre line.

    Attributes:
        seed: random seed that it was generated from.
        points: (P, 2) points in driving order, metres.
        angles: (P,) angles of a car that follows it: 0 points along y, positive is to the left.

    """

    seed: int
    points: Floats
    angles: Floats

    @cached_property
    def sides(self) -> Floats:
        """Vectors (P, 2) from each point to the next."""
        return np.roll(self.points, -1, axis=0) - self.points

    @cached_property
    def lengths(self) -> Floats:
        """Metres (P,) from each point to the next."""
        return np.asarray(np.linalg.norm(self.sides, axis=1))

    @cached_property
    def along(self) -> Floats:
        """Metres (P,) from the first point to each."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)[:-1]])

    @property
    def length(self) -> float:
        """Length of a lap in metres."""
        return float(self.lengths.sum())

    def place(self, position: tuple[float, float], angle: float, near: int | None = None) -> Place:
        """Return the position of a car relative to the track.

        Args:
            position: coordinates of the car, metres.
            angle: angle of the car, as in `angles`.
            near: index of an earlier position of the same car; None searches everywhere.

        """
        P = len(self.points)
        candidates = np.arange(P) if near is None else np.arange(near - REACH, near + REACH + 1) % P
        offset = np.asarray(position) - self.points[candidates]
        side, length = self.sides[candidates], np.maximum(self.lengths[candidates], 1e-9)
        share = np.clip((offset * side).sum(axis=1) / length**2, 0.0, 1.0)
        off = offset - share[:, None] * side
        best = int(np.argmin((off**2).sum(axis=1)))
        index = int(candidates[best])
        direction = side[best] / length[best]
        right = np.array([direction[1], -direction[0]])
        towards = np.array([-np.sin(angle), np.cos(angle)])
        return Place(
            index,
            float(self.along[index] + share[best] * length[best]),
            float(off[best] @ right),
            float(np.arctan2(towards @ right, towards @ direction)),
        )

    def point(self, along: float) -> tuple[Floats, float]:
        """Return the point (2,) of the centre line at a distance in metres, and the angle of a car that follows it."""
        s = along % self.length
        index = int(np.searchsorted(self.along, s, side="right") - 1)
        share = (s - self.along[index]) / max(self.lengths[index], 1e-9)
        side = self.sides[index]
        return self.points[index] + share * side, float(np.arctan2(-side[0], side[1]))

    def ahead(self, place: Place, distance: float) -> Floats:
        """Return the point (2,) of the centre line at a distance in metres past a place."""
        return self.point(place.along + distance)[0]

    def progress(self, before: Place, after: Place) -> float:
        """Return the metres along the centre line from one position to another, in the shorter direction."""
        gone = (after.along - before.along) % self.length
        return gone if gone <= self.length / 2 else gone - self.length
