"""Test a network on tracks that it was not trained on: interventions, distance to the centre line, smoothness."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from liquidtime.paper.datasets.car_racing import Camera, Car, Log, Policy, Shutter, drive
from liquidtime.paper.models.driving.network import Pilot, SteeringNetwork
from liquidtime.paper.models.lane.corruption import CORRUPTIONS
from liquidtime.paper.models.lane.smoothness import variation

METRES = 200.0
"""Metres of each test track that are driven, from its start."""
LEVEL, RESAMPLES = 0.95, 2000


@dataclass(frozen=True)
class Condition:
    """A condition under which a network drives.

    Attributes:
        corruption: one of `CORRUPTIONS`, or None.
        dropped: share of the frames that do not arrive.

    """

    corruption: str | None = None
    dropped: float = 0.0


CONDITIONS = {
    "clean": Condition(),
    "noise": Condition("noise"),
    "brighter": Condition("brighter"),
    "blur": Condition("blur"),
    "dropped": Condition(dropped=0.5),
}


@functools.lru_cache(maxsize=64)
def camera_of(seed: int) -> Camera:
    """Return the camera of a car on a track, which the drives of one process share."""
    return Camera(Car(seed))


def seeing(corruption: str | None, seed: int) -> Callable[[Tensor], Tensor]:
    """Return the corruption of images as a function, with random numbers from a seed."""
    if corruption is None:
        return lambda images: images
    generator = torch.Generator().manual_seed(seed)
    return lambda images: CORRUPTIONS[corruption](images, generator)


def drives_on(policy: Policy | None, tracks: list[int], dropped: float, metres: float) -> list[Log]:
    """Return a drive on each track from its start; intervals depend only on the track."""
    cameras = [camera_of(track) for track in tracks]
    for camera in cameras:
        camera.car.put(0.0)
    shutters = [Shutter(np.random.default_rng([track, 1]), dropped) for track in tracks]
    return drive(cameras, policy, shutters, metres=metres)


def closed_loop(network: SteeringNetwork, tracks: list[int], seed: int, metres: float = METRES) -> dict[str, Any]:
    """Return the figures of a network under each condition, by name."""
    figures = {}
    for name, condition in CONDITIONS.items():
        pilot = Pilot(network, seeing(condition.corruption, seed))
        figures[name] = summary(drives_on(pilot, tracks, condition.dropped, metres))
    return figures


def summary(logs: list[Log]) -> dict[str, Any]:
    """Return the figures of drives, one per track, with an interval of the rate over tracks.

    Interventions per kilometre are their number divided by the kilometres of all tracks; `between` is the number of
    metres driven divided by the interventions, or all metres if there are none.
    """
    counts = np.array([log.interventions for log in logs], dtype=np.float64)
    kilometres = np.array([log.metres for log in logs]) / 1000
    drawn = np.random.default_rng(0).integers(0, len(logs), (RESAMPLES, len(logs)))
    rates = counts[drawn].sum(axis=1) / kilometres[drawn].sum(axis=1)
    low, high = np.quantile(rates, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    restless = [variation(torch.tensor(log.commands), torch.tensor(log.intervals)) for log in logs]
    return {
        "kilometres": float(kilometres.sum()),
        "interventions": int(counts.sum()),
        "per_kilometre": float(counts.sum() / kilometres.sum()),
        "low": float(low),
        "high": float(high),
        "level": LEVEL,
        "between": float(1000 * kilometres.sum() / max(counts.sum(), 1)),
        "lateral": float(np.mean([np.mean(np.abs(log.lateral)) for log in logs])),
        "variation": float(np.mean(restless)),
        "interval": float(np.mean(np.concatenate([log.intervals[1:] for log in logs]))),
        "tracks": {
            "seed": [log.seed for log in logs],
            "kilometres": kilometres.tolist(),
            "interventions": counts.astype(int).tolist(),
            "lateral": [float(np.mean(np.abs(log.lateral))) for log in logs],
        },
    }
