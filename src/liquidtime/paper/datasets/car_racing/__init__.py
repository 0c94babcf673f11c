"""Driving in closed loop: gymnasium's CarRacing-v3 with a camera, a cruise controller and a teacher."""

from liquidtime.paper.datasets.car_racing.camera import PALETTES, Camera
from liquidtime.paper.datasets.car_racing.car import SECONDS, SPEED, Car
from liquidtime.paper.datasets.car_racing.drive import Log, Policy, Shutter, drive
from liquidtime.paper.datasets.car_racing.recordings import TEST_TRACKS, TRAINING_TRACKS, car_racing, start, windows

__all__ = [
    "PALETTES",
    "SECONDS",
    "SPEED",
    "TEST_TRACKS",
    "TRAINING_TRACKS",
    "Camera",
    "Car",
    "Log",
    "Policy",
    "Shutter",
    "car_racing",
    "drive",
    "start",
    "windows",
]
