"""Walker2D rollouts from the repository that published them, with the reference's order of the rollouts."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from liquidtime.paper.datasets.download import Download
from liquidtime.paper.datasets.files import Origin

COMMIT = "59f6e01fd4809331f6dd3ddf0f8bf5890c9e71a7"
ARCHIVE = Download(f"https://github.com/raminmh/CfC/archive/{COMMIT}.zip", "CfC.zip", None)
CONTENT = "2c49c8143f3f8be8bd714307ffbfd0e8c290f563d332ac90251a888244c8f648"
"""SHA-256 of the observations as little-endian float32, followed by the lengths as little-endian int64."""
ORDER_SEED = 125487


def prepare(raw: Path, into: Path, content: str = CONTENT) -> None:
    """Write walker2d.npz: observations, lengths, split and split_order.

    Raises:
        ValueError: the rollouts do not have the checksum `content`.

    """
    with zipfile.ZipFile(raw / ARCHIVE.name) as files:
        names = sorted(name for name in files.namelist() if "/data/walker/" in name and name.endswith(".npy"))
        rollouts = [np.load(io.BytesIO(files.read(name)), allow_pickle=False).astype(np.float32) for name in names]
    if not rollouts:
        raise ValueError(f"{ARCHIVE.name} has no data/walker/*.npy")
    observations, lengths = np.concatenate(rollouts), np.array([len(rollout) for rollout in rollouts], np.int32)
    if (found := digest(observations, lengths)) != content:
        raise ValueError(f"the rollouts have sha256 {found}, not {content}")
    order, split = split_order(len(rollouts))
    np.savez_compressed(
        into / "walker2d.npz", observations=observations, lengths=lengths, split=split, split_order=order
    )


def digest(observations: npt.NDArray[np.float32], lengths: npt.NDArray[np.int32]) -> str:
    """Return the checksum of the contents of the rollouts."""
    return hashlib.sha256(observations.astype("<f4").tobytes() + lengths.astype("<i8").tobytes()).hexdigest()


def split_order(count: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint8]]:
    """Return the reference's order of `count` rollouts and the part of each: 0 train, 1 validation, 2 test."""
    order = list(range(count))
    np.random.RandomState(ORDER_SEED).shuffle(order)
    test, known = int(0.15 * count), int(0.25 * count)
    split = np.zeros(count, np.uint8)
    split[order[:test]], split[order[test:known]] = 2, 1
    return np.array(order, np.int16), split


ORIGIN = Origin("walker2d", ("walker2d.npz",), (ARCHIVE,), prepare)
