"""Walker2D: predict the next observation of a walking robot from samples, some of which were dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from liquidtime._checks import check_size
from liquidtime.paper.datasets.files import locate
from liquidtime.paper.datasets.prepare.walker2d import ORIGIN
from liquidtime.paper.datasets.sequences import Sequences, Split, check_protocol

Array: TypeAlias = npt.NDArray[Any]

DROP_SEED, KEPT = 891374, 0.9
WINDOW = 64


def walker2d(
    data_dir: str | Path | None = None, *, protocol: str = "honest", seed: int = DROP_SEED, window: int = WINDOW
) -> Split:
    """Return windows of rollouts in which each step was kept with probability 0.9.

    dt is the number of steps since the last kept one; the target is the observation one original step later. Windows of
    `window` kept steps start every quarter of a window. Rollouts are split by the reference's shuffle: 15 % test, 10 %
    validation. Both protocols have the same parts, since the reference has a validation part here.

    Args:
        data_dir: folder with `walker2d/`; see `locate`.
        protocol: "honest" or "published".
        seed: random seed of the dropped steps, drawn for training, validation and test in this order.
        window: T, number of steps in a window.

    Returns:
        x and y (N, T, 17) float32; ids are numbers of rollouts.

    Raises:
        DataNotFound: the files cannot be found or downloaded.

    """
    check_protocol(protocol)
    check_size("window", window, least=4)
    with np.load(locate(ORIGIN, data_dir) / "walker2d.npz", allow_pickle=False) as stored:
        observations, lengths, split, order = (
            stored[name] for name in ("observations", "lengths", "split", "split_order")
        )
    ends = np.cumsum(lengths)
    rollouts = [observations[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    rng = np.random.RandomState(seed)
    parts = [
        _windows([(int(number), rollouts[number]) for number in order if split[number] == part], rng, window)
        for part in range(3)
    ]
    return Split(*parts)


def _windows(rollouts: list[tuple[int, Array]], rng: np.random.RandomState, window: int) -> Sequences:
    x: list[Array] = []
    y: list[Array] = []
    dt: list[Array] = []
    ids: list[int] = []
    for number, rollout in rollouts:
        kept = np.flatnonzero(rng.rand(len(rollout) - 1) < KEPT)
        elapsed = np.diff(kept, prepend=-1)
        for start in range(0, len(kept) - window, window // 4):
            steps = kept[start : start + window]
            x.append(rollout[steps])
            y.append(rollout[steps + 1])
            dt.append(elapsed[start : start + window])
            ids.append(number)
    N, D = len(ids), rollouts[0][1].shape[1] if rollouts else 0
    shape = (N, window, D)
    return Sequences(
        torch.from_numpy(np.array(x, np.float32).reshape(shape)),
        torch.from_numpy(np.array(dt, np.float32).reshape(N, window)),
        torch.full((N,), window),
        torch.from_numpy(np.array(y, np.float32).reshape(shape)),
        torch.tensor(ids, dtype=torch.int64),
    )
