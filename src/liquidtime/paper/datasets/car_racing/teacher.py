"""The teacher: a driver who knows the track and aims at a point of the centre line ahead."""

from __future__ import annotations

import numpy as np

from liquidtime.paper.datasets.car_racing.car import FULL_LOCK, Car

WHEELBASE = 3.24
"""Distance between the axles in metres."""
AHEAD_SECONDS, AHEAD_LEAST = 0.25, 5.0
"""How far ahead the teacher aims, in seconds, and the smallest distance in metres."""


def pure_pursuit(car: Car) -> float:
    """Return the steering -1…1, positive to the right, of the circle through the car and the point aimed at."""
    distance = max(AHEAD_SECONDS * car.velocity, AHEAD_LEAST)
    aim = car.track.ahead(car.place, distance) - np.asarray(car.position)
    angle = car.angle
    right = aim @ np.array([np.cos(angle), np.sin(angle)])
    curvature = 2.0 * right / max(float(aim @ aim), 1e-6)
    return float(np.clip(np.arctan(WHEELBASE * curvature) / FULL_LOCK, -1.0, 1.0))
