"""A bit to remember: the target is the sign of the first sample, after a delay of noise."""

from __future__ import annotations

import numpy as np
import torch

from liquidtime._checks import check_size
from liquidtime.paper.datasets.sequences import Sequences, Split, check_protocol, draw_validation, rows_of

SIZES = {"train": 4_000, "test": 1_000}
VALIDATION = 0.1
NOISE = 0.3
"""Standard deviation of the samples after the first, which is -1 or 1."""


def recall_split(
    *, protocol: str = "honest", seed: int = 0, delay: int = 40, size: int | None = None, test_size: int | None = None
) -> Split:
    """Return sequences of 1 + delay samples, one unit of time apart, whose label is the sign of the first.

    Args:
        protocol: "honest" takes a tenth of the training sequences for validation; "published" has no validation.
        seed: random seed of this choice.
        delay: number of samples of noise after the first.
        size: number of training and validation sequences together; None for 4,000.
        test_size: number of test sequences; None for 1,000.

    """
    check_protocol(protocol)
    check_size("delay", delay)
    known = _draw(SIZES["train"] if size is None else check_size("size", size), delay, first_id=0)
    test = _draw(SIZES["test"] if test_size is None else check_size("test_size", test_size), delay, first_id=10**6)
    if protocol == "published":
        return Split(known, None, test)
    train, validation = draw_validation(len(known), VALIDATION, seed)
    return Split(known.take(rows_of(train)), known.take(rows_of(validation)), test)


def _draw(count: int, delay: int, first_id: int) -> Sequences:
    rng = np.random.default_rng([delay, first_id])
    T = 1 + delay
    x = NOISE * rng.standard_normal((count, T)).astype(np.float32)
    y = rng.integers(0, 2, count)
    x[:, 0] = 2.0 * y - 1.0
    return Sequences(
        torch.from_numpy(x).unsqueeze(-1),
        torch.ones(count, T),
        torch.full((count,), T, dtype=torch.int64),
        torch.from_numpy(y),
        torch.arange(first_id, first_id + count),
    )
