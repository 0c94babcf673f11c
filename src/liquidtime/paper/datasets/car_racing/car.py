"""A car on a track of gymnasium's CarRacing-v3, without its images; the caller steers, and the speed is constant."""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any

import numpy as np

from liquidtime.paper.datasets.car_racing.track import HALF_WIDTH, Place, Track

SECONDS = 0.02
"""Duration of one step of the physics, seconds."""
FULL_LOCK = 0.4
"""Angle of the front wheels at command 1, radians."""
SPEED = 40.0
"""Speed of the cruise controller, metres per second."""
GAIN, BRAKE = 0.1, 0.02
"""Gain of the cruise controller, per metre per second of deviation."""
BACKWARD = np.pi / 2


@functools.cache
def _simulator() -> tuple[Any, Any]:
    """Return gymnasium's environment and car classes; warnings of their bindings at import are suppressed."""
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from gymnasium.envs.box2d.car_dynamics import Car as Body
            from gymnasium.envs.box2d.car_racing import CarRacing
    except ImportError as error:
        raise ImportError("driving needs gymnasium and Box2D: pip install 'liquidtime[paper]'") from error
    return CarRacing, Body


class Car:
    """A car with its track; it starts at the first point of the track, at the speed of the controller.

    Args:
        seed: seed of the track in gymnasium.
        speed: speed of the cruise controller, metres per second.

    """

    def __init__(self, seed: int, speed: float = SPEED) -> None:
        environment, self._body = _simulator()
        self.environment = environment()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.environment.reset(seed=seed)
        track = np.array([entry[1:] for entry in self.environment.track], dtype=np.float64)
        self.track = Track(seed, track[:, 1:].copy(), track[:, 0].copy())
        self.speed = speed
        self.put(0.0)

    def put(self, along: float, lateral: float = 0.0, heading: float = 0.0) -> None:
        """Put the car at a place, at full speed with its wheels straight.

        Args:
            along: metres from the first point of the track.
            lateral: metres to the right of the centre line.
            heading: radians to the right of the direction of the track.

        """
        point, angle = self.track.point(along)
        x, y = point + lateral * np.array([np.cos(angle), np.sin(angle)])
        angle -= heading
        self.environment.car.destroy()
        body = self._body(self.environment.world, angle, float(x), float(y))
        self.environment.car = body
        towards = (-np.sin(angle) * self.speed, np.cos(angle) * self.speed)
        for wheel in body.wheels:  # gymnasium places them as on a car with angle 0
            anchor = wheel.joint.anchorA
            wheel.transform = ((anchor[0], anchor[1]), angle)
            wheel.linearVelocity = towards
            wheel.omega = self.speed / wheel.wheel_rad
        body.hull.linearVelocity = towards
        self.place: Place = self.track.place((float(x), float(y)), angle)

    @property
    def position(self) -> tuple[float, float]:
        """Metres."""
        x, y = self.environment.car.hull.position
        return float(x), float(y)

    @property
    def angle(self) -> float:
        """Radians; 0 looks along y, positive is to the left."""
        return float(self.environment.car.hull.angle)

    @property
    def velocity(self) -> float:
        """Metres per second."""
        vx, vy = self.environment.car.hull.linearVelocity
        return float(np.hypot(vx, vy))

    @property
    def is_off(self) -> bool:
        """Whether the centre of the car has left the road, or the car drives in the wrong direction."""
        return abs(self.place.lateral) > HALF_WIDTH or abs(self.place.heading) > BACKWARD

    def advance(self, command: float) -> float:
        """Simulate one step of the physics; return the metres driven along the centre line.

        Args:
            command: steering in -1…1, positive to the right.

        """
        body, before = self.environment.car, self.place
        wrong = self.speed - self.velocity
        body.steer(-FULL_LOCK * float(np.clip(command, -1.0, 1.0)))
        body.gas(max(GAIN * wrong, 0.0))
        body.brake(min(max(-BRAKE * wrong, 0.0), 0.5))
        body.step(SECONDS)
        self.environment.world.Step(SECONDS, 6 * 30, 2 * 30)
        self.place = self.track.place(self.position, self.angle, before.index)
        return self.track.progress(before, self.place)
