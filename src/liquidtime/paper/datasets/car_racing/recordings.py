"""Drives of the teacher on training and test tracks, from right and wrong places, with true intervals."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import torch

from liquidtime._checks import check_size
from liquidtime.paper.datasets.car_racing.camera import SIZE, Camera
from liquidtime.paper.datasets.car_racing.car import Car
from liquidtime.paper.datasets.car_racing.drive import Log, Shutter, drive
from liquidtime.paper.datasets.sequences import Sequences, Split, check_protocol

TRAINING_TRACKS = tuple(range(1_000, 1_012))
TEST_TRACKS = tuple(range(2_000, 2_020))
"""Seeds of gymnasium's tracks."""
WINDOW = 16
"""Frames of a window, about 1.1 s."""
PIECES, TEST_PIECES = 12, 2
"""Windows of each track."""
OFF, ASKEW = 4.5, 0.35
"""How far off the centre line and its direction a training window starts at most, metres and radians."""
DISTURBANCE, PERSISTENCE = 0.25, 0.8
"""Deviation of what is added to the teacher's command in training, and what a frame leaves of it."""


def car_racing(
    data_dir: str | Path | None = None,
    *,
    protocol: str = "honest",
    seed: int = 0,
    tracks: tuple[int, ...] = TRAINING_TRACKS,
    test_tracks: tuple[int, ...] = TEST_TRACKS,
    pieces: int = PIECES,
    window: int = WINDOW,
) -> Split:
    """Return windows of the teacher's drives in gymnasium's CarRacing-v3, which are driven when they are asked for.

    A training window starts anywhere on its track, off the centre line and askew, and the teacher's command is
    disturbed before it is done; the target is the command without the disturbance. Test windows start on the centre
    line and are not disturbed. No epoch is chosen, so there is no validation part. dt is in seconds.

    Args:
        data_dir: is not read; there are no files.
        protocol: "honest" or "published", which are the same here.
        seed: of places, disturbances and intervals.
        tracks: seeds of the training tracks.
        test_tracks: seeds of the test tracks.
        pieces: windows of each training track.
        window: T.

    Returns:
        x (N, T, 3, 72, 128) uint8, y (N, T, 1) float32 steering in -1…1, positive to the right; ids are the tracks'
        seeds.

    Raises:
        ImportError: gymnasium or Box2D is not installed.
        ValueError: a test track is among the training tracks.

    """
    check_protocol(protocol)
    check_size("pieces", pieces)
    check_size("window", window)
    if shared := sorted(set(tracks) & set(test_tracks)):
        raise ValueError(f"`test_tracks` must not be among the training tracks; {shared} are")
    train = [
        log
        for track in tracks
        for log in teach(track, pieces, window, np.random.default_rng([seed, track]), wrong=True)
    ]
    test = [
        log
        for track in test_tracks
        for log in teach(track, TEST_PIECES, window, np.random.default_rng([0, track]), wrong=False)
    ]
    return Split(windows(train, window), None, windows(test, window))


def teach(track: int, pieces: int, window: int, rng: np.random.Generator, *, wrong: bool) -> list[Log]:
    """Return drives of the teacher on a track.

    Args:
        track: its seed.
        pieces: number of drives.
        window: frames of each.
        rng: of places, disturbances and intervals.
        wrong: whether drives start at wrong places and the teacher's commands are disturbed.

    """
    camera = Camera(Car(track))
    logs = []
    for _ in range(pieces):
        start(camera.car, rng, wrong=wrong)
        hands = Disturbance(rng) if wrong else None
        logs += drive([camera], None, [Shutter(rng)], frames=window, kept=True, hands=hands)
    return logs


def start(car: Car, rng: np.random.Generator, *, wrong: bool) -> None:
    """Put a car anywhere on its track, on the centre line or at a wrong place."""
    along = rng.uniform(0.0, car.track.length)
    car.put(along, *((rng.uniform(-OFF, OFF), rng.uniform(-ASKEW, ASKEW)) if wrong else ()))


class Disturbance:
    """Adds to commands what wanders about 0 from frame to frame."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.value = rng, 0.0

    def __call__(self, car: int, command: float, taught: float) -> float:
        """Return the command with the disturbance."""
        fresh = np.sqrt(1.0 - PERSISTENCE**2) * DISTURBANCE * self.rng.standard_normal()
        self.value = PERSISTENCE * self.value + float(fresh)
        return command + self.value


def windows(logs: list[Log], window: int) -> Sequences:
    """Return kept frames with the teacher's commands as sequences of limited length, none across a restart.

    The first interval of a sequence is what it was, except at the first frame of a drive, where it is 0.
    """
    pieces = [
        (log, low, min(low + window, last))
        for log in logs
        for first, last in itertools.pairwise(sorted({0, *log.restarts, len(log.frames)}))
        for low in range(first, last, window)
    ]
    N = len(pieces)
    x, dt, y = np.zeros((N, window, 3, *SIZE), np.uint8), np.zeros((N, window)), np.zeros((N, window, 1))
    for row, (log, low, high) in enumerate(pieces):
        x[row, : high - low] = log.frames[low:high]
        dt[row, : high - low], y[row, : high - low, 0] = log.intervals[low:high], log.taught[low:high]
    return Sequences(
        torch.from_numpy(x),
        torch.from_numpy(dt.astype(np.float32)),
        torch.tensor([high - low for _, low, high in pieces]),
        torch.from_numpy(y.astype(np.float32)),
        torch.tensor([log.seed for log, _, _ in pieces], dtype=torch.int64),
    )
