"""Batches of encoded series of similar lengths, so that batches have little padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime._checks import check_size
from liquidtime.data.container import flat_rows
from liquidtime.data.encoding.encoder import Encoded

Rows = npt.NDArray[np.int64]

_POOL = 16  # number of batches sorted together: more means less padding, but also less shuffling


class Batch(NamedTuple):
    """Encoded series, padded to the length of the longest.

    Args:
        x: (B, T, D) float32, 0 in the padding; T is at least 1.
        dt: (B, T) float32 time since the previous sample, 0 in the padding.
        lengths: (B,) int64 number of samples of each series.
        static: (B, F) float32 static features.
        rows: (B,) int64 positions of the series in the set.
    """

    x: Tensor
    dt: Tensor
    lengths: Tensor
    static: Tensor
    rows: Tensor


class BatchPlan:
    """Distributes series over batches; every series occurs once in each pass.

    With `rng`, each pass shuffles the series, sorts pools of 16 batches by length, cuts them into batches and shuffles
    the batches. Without it, series are sorted by length.

    Args:
        lengths: (S,) lengths of all series.
        batch_size: number of series per batch; the last batch may be smaller.
        rows: positions of the series to use; all if None.
        rng: numpy generator for the order of each pass; None for a fixed order.
    """

    def __init__(
        self,
        lengths: npt.NDArray[np.int64],
        batch_size: int,
        *,
        rows: Any = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.lengths = lengths
        self.batch_size = check_size("batch_size", batch_size)
        self.rows: Rows = np.arange(len(lengths)) if rows is None else np.asarray(rows, dtype=np.int64)
        if len(self.rows) and not (self.rows.min() >= 0 and self.rows.max() < len(lengths)):
            raise IndexError(
                f"`rows` must be positions in {len(lengths)} series; got {self.rows.min()}…{self.rows.max()}"
            )
        self.rng = rng
        self.waste = 0.0
        """Fraction of steps that were padding in the last pass, 0…1."""

    def __len__(self) -> int:
        return -(-len(self.rows) // self.batch_size)

    def plan(self) -> list[Rows]:
        """Return the rows of each batch of a pass, and measure the fraction of padding."""
        lengths = self.lengths
        plan = plan_batches(lengths, self.rows, self.batch_size, self.rng, _POOL)
        steps = sum(len(rows) * max(1, int(lengths[rows].max())) for rows in plan)
        self.waste = 1.0 - float(lengths[self.rows].sum()) / steps if steps else 0.0
        return plan


class Batches(BatchPlan):
    """Iterate over batches of encoded series as a `BatchPlan` distributes them; `Batch.rows` has their positions.

    Args:
        encoded: the series.
        batch_size: number of series per batch; the last batch may be smaller.
        rows: positions of the series to use; all if None.
        rng: numpy generator for the order of each pass; None for a fixed order.
    """

    def __init__(
        self, encoded: Encoded, batch_size: int, *, rows: Any = None, rng: np.random.Generator | None = None
    ) -> None:
        super().__init__(encoded.lengths, batch_size, rows=rows, rng=rng)
        self.encoded = encoded

    def __iter__(self) -> Iterator[Batch]:
        for rows in self.plan():
            yield pad(self.encoded, rows)


def plan_batches(
    lengths: npt.NDArray[np.int64], rows: Rows, batch_size: int, rng: np.random.Generator | None, pool: int
) -> list[Rows]:
    """Cut rows into batches of similar lengths.

    Args:
        lengths: (S,) lengths of all series.
        rows: (K,) positions of the series to use.
        batch_size: number of rows per batch.
        rng: generator for shuffling, or None.
        pool: number of batches sorted together.

    Returns:
        ceil(K / batch_size) arrays, in which each row occurs once.
    """
    if rng is None:
        rows = rows[np.argsort(lengths[rows], kind="stable")]
        return [rows[low : low + batch_size] for low in range(0, len(rows), batch_size)]
    rows = rng.permutation(rows)
    batches = []
    for low in range(0, len(rows), batch_size * pool):
        pooled = rows[low : low + batch_size * pool]
        pooled = pooled[np.argsort(lengths[pooled], kind="stable")]
        batches += [pooled[start : start + batch_size] for start in range(0, len(pooled), batch_size)]
    return [batches[position] for position in rng.permutation(len(batches))]


def pad(encoded: Encoded, rows: Rows) -> Batch:
    """Return series as padded tensors, by one copy from the flat arrays without a loop over steps or series."""
    lengths = encoded.lengths[rows]
    B, T = len(rows), max(1, int(lengths.max(initial=0)))
    inside = np.arange(T) < lengths[:, None]  # (B, T)
    steps = flat_rows(encoded.offsets, rows)
    x = np.zeros((B, T, encoded.x.shape[1]), dtype=np.float32)
    x[inside] = encoded.x[steps]
    dt = np.zeros((B, T), dtype=np.float32)
    dt[inside] = encoded.dt[steps]
    return Batch(
        torch.from_numpy(x),
        torch.from_numpy(dt),
        torch.from_numpy(lengths),
        torch.from_numpy(encoded.static[rows]),
        torch.from_numpy(rows.copy()),
    )
