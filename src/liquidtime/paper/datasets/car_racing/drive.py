"""Drive in closed loop: cars on several tracks, for which a policy turns frames at irregular times into commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from liquidtime.paper.datasets.car_racing.camera import Camera
from liquidtime.paper.datasets.car_racing.car import SECONDS, Car
from liquidtime.paper.datasets.car_racing.teacher import pure_pursuit

LONGEST = 6
"""Largest number of physics steps between two frames; all numbers from 1 to this are equally likely."""

Frames = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
Policy = Callable[[Frames, Floats], Floats]
"""(frames (N, 3, h, w), seconds since the previous frame of each car (N,)) -> commands (N,)."""


@dataclass(frozen=True)
class Shutter:
    """Draws the time of the next frame.

    Attributes:
        rng: random source for the intervals of one car.
        dropped: share of the frames that are lost on their way to the network, 0…1.

    """

    rng: np.random.Generator
    dropped: float = 0.0

    def steps(self) -> int:
        """Return the number of physics steps until the next frame that arrives."""
        total = int(self.rng.integers(1, LONGEST + 1))
        while self.rng.random() < self.dropped:
            total += int(self.rng.integers(1, LONGEST + 1))
        return total


@dataclass
class Log:
    """The drive of one car.

    Attributes:
        seed: seed of its track.
        metres: metres driven along the centre line, without restarts.
        seconds: duration of the drive.
        interventions: number of times the car was put back on the centre line.
        lateral: metres off the centre line after each step of the physics.
        commands: command at each frame.
        taught: command of the teacher at each frame.
        intervals: seconds since the previous frame, at each frame.
        frames: the frames, if they are stored.
        poses: x, y and angle of the car at each frame.
        restarts: numbers of the frames before which the car was put back.

    """

    seed: int
    metres: float = 0.0
    seconds: float = 0.0
    interventions: int = 0
    lateral: list[float] = field(default_factory=list)
    commands: list[float] = field(default_factory=list)
    taught: list[float] = field(default_factory=list)
    intervals: list[float] = field(default_factory=list)
    frames: list[Frames] = field(default_factory=list)
    poses: list[tuple[float, float, float]] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)


Hands = Callable[[int, float, float], float]
"""(car, command of the policy, command of the teacher) -> command that is executed."""


def drive(
    cameras: list[Camera],
    policy: Policy | None,
    shutters: list[Shutter],
    *,
    metres: float | None = None,
    frames: int | None = None,
    palette: str = "summer",
    kept: bool = False,
    taught: bool = False,
    hands: Hands | None = None,
    put_back: Callable[[Car, int], None] | None = None,
) -> list[Log]:
    """Let all cars drive from where they are, frame by frame together; return the drive of each.

    A command is valid until the next frame. A car that leaves the road is put back on the centre line where it left the
    road, which counts as an intervention.

    Args:
        cameras: camera of each car.
        policy: maps frames to commands; None if the teacher drives.
        shutters: shutter of each car.
        metres: distance for each car along the centre line; a car that makes no progress drives for as many seconds.
        frames: number of frames per car, if `metres` is None.
        palette: colours of the frames.
        kept: whether frames are stored.
        taught: whether the command of the teacher is stored at every frame.
        hands: changes a command before it is executed, for example disturbs it.
        put_back: puts a car that has left the road at another place; takes the car and its number.

    """
    if (metres is None) == (frames is None):
        raise ValueError("`metres` or `frames` must be given, and not both")
    cars = [camera.car for camera in cameras]
    logs = [Log(car.track.seed) for car in cars]
    dt = np.zeros(len(cars))
    blank = cameras[0].frame(palette)
    seen = np.zeros((len(cars), *blank.shape), np.uint8)

    def is_driving(log: Log, car: Car) -> bool:
        if metres is None:
            return len(log.commands) < (frames or 0)
        return log.seconds * car.speed < metres

    while any(driving := [is_driving(log, car) for log, car in zip(logs, cars, strict=True)]):
        active = np.flatnonzero(driving)
        if policy is not None or kept:
            for i in active:
                seen[i] = cameras[i].frame(palette)
        lessons = [
            pure_pursuit(cars[i]) if i in active and (taught or policy is None) else 0.0 for i in range(len(cars))
        ]
        commands = np.asarray(lessons) if policy is None else policy(seen, dt)
        for i in active:
            car, log = cars[i], logs[i]
            log.intervals.append(float(dt[i]))
            log.commands.append(float(commands[i]))
            log.taught.append(lessons[i])
            log.poses.append((*car.position, car.angle))
            if kept:
                log.frames.append(seen[i].copy())
            done = float(commands[i]) if hands is None else hands(int(i), float(commands[i]), lessons[i])
            steps = shutters[i].steps()
            for _ in range(steps):
                log.metres += car.advance(done)
                log.lateral.append(car.place.lateral)
                if car.is_off:
                    log.interventions += 1
                    log.restarts.append(len(log.commands))
                    if put_back is None:
                        car.put(car.place.along)
                    else:
                        put_back(car, int(i))
            dt[i] = steps * SECONDS
            log.seconds += steps * SECONDS
    return logs
