"""The batches of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from liquidtime.data.encoding.batches import plan_batches
from liquidtime.paper.datasets import Sequences

BUCKET = 32
"""Number of batches that are sorted by length together."""

Key = TypeVar("Key")
Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Epoch(Generic[Key, Batch]):
    """The batches of one epoch, each created when it is needed.

    Attributes:
        keys: key of each batch, such as its rows.
        make: key -> batch.

    """

    keys: Sequence[Key]
    make: Callable[[Key], Batch]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Batch]:
        return (self.make(key) for key in self.keys)


@dataclass(frozen=True)
class Shuffled:
    """The batches of an epoch, in an order drawn from its generator, each padded to its longest sequence.

    Attributes:
        data: the sequences.
        batch_size: sequences per batch.
        bucketed: whether groups of `BUCKET` batches are sorted by length before they are cut and shuffled again.
        growing: number of epochs in which sequences are drawn, with replacement, from those up to a length, which
            grows from just above the shortest to the longest, from one group of `BUCKET` batches to the next.

    """

    data: Sequences
    batch_size: int
    bucketed: bool = False
    growing: int = 0

    def __call__(self, epoch: int, generator: torch.Generator) -> Epoch[Tensor, Sequences]:
        """Return the batches of an epoch."""
        if epoch < self.growing:
            return self._grown(epoch, generator)
        if not self.bucketed:
            order = torch.randperm(len(self.data), generator=generator)
            return Epoch(torch.split(order, self.batch_size), self.data.take)
        rng = np.random.default_rng(int(torch.randint(2**63 - 1, (), generator=generator)))
        plan = plan_batches(self.data.lengths.numpy(), np.arange(len(self.data)), self.batch_size, rng, BUCKET)
        return Epoch([torch.from_numpy(rows) for rows in plan], self.data.take)

    def _grown(self, epoch: int, generator: torch.Generator) -> Epoch[Tensor, Sequences]:
        N, lengths = len(self.data), self.data.lengths
        shortest, longest = int(lengths.min()), int(lengths.max())
        sizes = [len(piece) for piece in torch.split(torch.arange(N), self.batch_size * BUCKET)]
        batches: list[Tensor] = []
        for number, size in enumerate(sizes):
            grown = (epoch + number / len(sizes)) / self.growing  # 0…1
            cap = shortest + 1 + int(grown * (longest - shortest))
            allowed = torch.nonzero(lengths <= cap)[:, 0]
            rows = allowed[torch.randint(len(allowed), (size,), generator=generator)]
            pieces = torch.split(rows[lengths[rows].argsort(stable=True)], self.batch_size)
            batches += [pieces[i] for i in torch.randperm(len(pieces), generator=generator).tolist()]
        return Epoch(batches, self.data.take)
