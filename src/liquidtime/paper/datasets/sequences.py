"""Sequences with their own times, in parts that share nothing: what every data set returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime._checks import check_choice, check_rate

PROTOCOLS = ("honest", "published")


@dataclass(frozen=True)
class Sequences:
    """Ragged sequences with their targets.

    Attributes:
        x: (N, T, D) float32 samples, 0 past the end of a sequence; or (N, T) int64 word numbers; or (N, T, 3, h, w)
            uint8 images.
        dt: (N, T) float32 time since the previous sample, 0 past the end.
        lengths: (N,) int64 number of samples of each sequence.
        y: (N,) int64 labels; or (N, T, K) float32 targets at each sample.
        ids: (N,) int64 origin of each sequence: patient, review, rollout or run. Parts have no ids in common.
        mask: (N, T, C) bool, True where one of C channels was observed; None if all are always observed.
        further: (N, K) float32 other outcomes of each sequence, NaN = not known; None without any.

    """

    x: Tensor
    dt: Tensor
    lengths: Tensor
    y: Tensor
    ids: Tensor
    mask: Tensor | None = None
    further: Tensor | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, rows: Tensor) -> Sequences:
        """Return the sequences `rows` (n,), with padding only up to the longest of them."""
        lengths = self.lengths[rows]
        T = int(lengths.max()) if len(rows) else 0
        y = self.y[rows] if self.y.dim() == 1 else self.y[rows, :T]
        mask = None if self.mask is None else self.mask[rows, :T]
        further = None if self.further is None else self.further[rows]
        return Sequences(self.x[rows, :T], self.dt[rows, :T], lengths, y, self.ids[rows], mask, further)


@dataclass(frozen=True)
class Split:
    """The parts of a data set.

    Attributes:
        train: training part; the statistics of the honest protocol come only from here.
        validation: part on which the epoch is chosen; None in a published protocol without one.
        test: part on which figures are reported.

    """

    train: Sequences
    validation: Sequences | None
    test: Sequences

    def parts(self) -> dict[str, Sequences]:
        """Return the parts that exist, by name."""
        named = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: part for name, part in named.items() if part is not None}


def check_protocol(protocol: str) -> None:
    """Refuse a protocol that is not in the table."""
    check_choice("protocol", protocol, PROTOCOLS)


def draw_validation(
    count: int, share: float, seed: int, labels: npt.NDArray[np.int64] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (training rows, validation rows) of `count` rows, each in ascending order.

    Args:
        count: number of rows.
        share: share of the rows for validation, at least 0 and less than 1.
        seed: random seed.
        labels: (count,) class of each row, to take the same share of each class; None for no classes.

    """
    check_rate("share", share)
    rng = np.random.default_rng(seed)
    groups = [np.arange(count)] if labels is None else [np.flatnonzero(labels == k) for k in np.unique(labels)]
    chosen = np.zeros(count, bool)
    for rows in groups:
        chosen[rng.permutation(rows)[: round(share * len(rows))]] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def rows_of(indices: npt.NDArray[np.int64]) -> Tensor:
    """Return row numbers as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(indices, dtype=np.int64))
