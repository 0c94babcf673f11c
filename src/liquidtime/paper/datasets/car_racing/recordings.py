"""Drives of the teacher on training and test tracks, from the centre line and other places, with true intervals."""

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
"""Seeds of the tracks in gymnasium."""
WINDOW = 16
"""Number of frames in a window, about 1.1 s."""
PIECES, TEST_PIECES = 12, 2
"""Number of windows per track."""
OFF, ASKEW = 4.5, 0.35
"""Largest deviation from the centre line and its direction at the start of a training window, metres and radians."""
DISTURBANCE, PERSISTENCE = 0.25, 0.8
"""Standard deviation of the disturbance of the teacher's command in training, and the share that remains per frame."""


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
    """Return windows of the teacher's drives in gymnasium's CarRacing-v3, which are driven by this call.

    A training window starts anywhere on its track, at a distance from the centre line and at an angle to it, and the
    teacher's command is disturbed before it is executed; the target is the command without the disturbance. Test
    windows start on the centre line and are not disturbed. No epoch is chosen, so there is no validation part. dt is in
    seconds.

    Args:
        data_dir: ignored; there are no files.
        protocol: "honest" or "published", which do not differ here.
        seed: random seed of places, disturbances and intervals.
        tracks: seeds of the training tracks.
        test_tracks: seeds of the test tracks.
        pieces: number of windows per training track.
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
        track: seed of the track.
        pieces: number of drives.
        window: number of frames per drive.
        rng: random source of places, disturbances and intervals.
        wrong: whether drives start off the centre line and the teacher's commands are disturbed.

    """
    camera = Camera(Car(track))
    logs = []
    for _ in range(pieces):
        start(camera.car, rng, wrong=wrong)
        hands = Disturbance(rng) if wrong else None
        logs += drive([camera], None, [Shutter(rng)], frames=window, kept=True, hands=hands)
    return logs


def start(car: Car, rng: np.random.Generator, *, wrong: bool) -> None:
    """Put a car anywhere on its track, on the centre line or, with `wrong`, off it."""
    along = rng.uniform(0.0, car.track.length)
    car.put(along, *((rng.uniform(-OFF, OFF), rng.uniform(-ASKEW, ASKEW)) if wrong else ()))


class Disturbance:
    """Adds to commands a disturbance that varies around 0 from frame to frame."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.value = rng, 0.0

    def __call__(self, car: int, command: float, taught: float) -> float:
        """Return the command plus the disturbance."""
        fresh = np.sqrt(1.0 - PERSISTENCE**2) * DISTURBANCE * self.rng.standard_normal()
        self.value = PERSISTENCE * self.value + float(fresh)
        return command + self.value


def windows(logs: list[Log], window: int) -> Sequences:
    """Return stored frames with the teacher's commands as sequences of limited length, none of which spans a restart.

    The first interval of a sequence is the true one, except that it is 0 at the first frame of a drive.
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
