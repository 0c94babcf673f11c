"""Ranks: processes that train one model together. Each has a share of every batch, and all take the same steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _nothing() -> None:
    return None


def _own(message: bytes) -> bytes:
    return message


@dataclass(frozen=True)
class Ranks:
    """One of the processes that train a model together, and how it reaches the others; by default there are no others.

    Args:
        rank: number of this process, from 0; only rank 0 writes files.
        world: number of ranks.
        sum: sums a tensor over all ranks, in place, and returns it; every rank gets the same bits.
        barrier: waits until every rank has called it.
        broadcast: returns the bytes that rank 0 passes; those of other ranks are ignored.
    """

    rank: int = 0
    world: int = 1
    sum: Callable[[Tensor], Tensor] = _same
    barrier: Callable[[], None] = _nothing
    broadcast: Callable[[bytes], bytes] = _own

    def rows(self, B: int) -> tuple[slice, bool]:
        """Return which of the B rows of a batch belong to this rank, and whether they count.

        Batches are sorted by length and rows are assigned in turn, so that every share has short and long ones. A rank
        without rows takes the first row, which does not count, so that it takes part in every sum.
        """
        return (slice(self.rank, None, self.world), True) if self.rank < B else (slice(0, 1), False)


ALONE = Ranks()
_CURRENT: ContextVar[Ranks] = ContextVar("ranks", default=ALONE)


def current() -> Ranks:
    """Return the ranks that this process trains with: those of the innermost `joined` block, or this process alone."""
    return _CURRENT.get()


@contextmanager
def joined(ranks: Ranks) -> Iterator[Ranks]:
    """Share every training within the block among these ranks."""
    token = _CURRENT.set(ranks)
    try:
        yield ranks
    finally:
        _CURRENT.reset(token)


class RanksDisagree(RuntimeError):
    """The ranks were started with different data, settings or weights, or another rank has stopped."""


@dataclass(frozen=True)
class Share:
    """A rank's share of a batch.

    Args:
        ranks: the ranks that share the batch.
        B: number of rows of the whole batch.
    """

    ranks: Ranks
    B: int

    @property
    def counts(self) -> bool:
        """Whether the rows count; False if this rank has no rows and only takes part in sums."""
        return self.ranks.rows(self.B)[1]

    def of(self, whole: Tensor, each: int = 1) -> Tensor:
        """Return the rows of this share from (B·each, …), in which every row has `each` consecutive entries."""
        own = whole.reshape(self.B, each, *whole.shape[1:])[self.ranks.rows(self.B)[0]]
        return own.flatten(0, 1)


_SHARE: ContextVar[Share | None] = ContextVar("share", default=None)


@contextmanager
def sharing(share: Share | None) -> Iterator[None]:
    """Compute random draws and batch statistics within the block for the whole batch, not only this share."""
    token = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(token)


def share() -> Share | None:
    """Return the current share; None if this process has the whole batch."""
    return _SHARE.get()


def drawn(draw: Callable[[int], Tensor], rows: int) -> Tensor:
    """Return random numbers for the rows of a batch, which do not depend on how many ranks share the batch.

    Every rank draws the numbers of the whole batch and takes its own, so that all random states stay equal.

    Args:
        draw: maps a number of rows n to (n, …) random numbers.
        rows: number of rows of this process: that of its share, or a multiple if each row has several entries.
    """
    own = _SHARE.get()
    if own is None:
        return draw(rows)
    mine = len(range(own.B)[own.ranks.rows(own.B)[0]])
    each = rows // mine
    return own.of(draw(own.B * each), each)


class Dropout(nn.Dropout):
    """Dropout whose mask for a row does not depend on how many ranks share the batch; the first axis is the rows."""

    def forward(self, x: Tensor) -> Tensor:
        """In training, return x with a share `p` of its values set to 0 and the others scaled up."""
        if not self.training or self.p == 0.0 or _SHARE.get() is None:
            return super().forward(x)
        keep = 1.0 - self.p
        mask = drawn(lambda n: x.new_empty((n, *x.shape[1:])).bernoulli_(keep).div_(keep), len(x))
        return x * mask


class _Sum(torch.autograd.Function):
    """The sum over all ranks; its gradient is the sum of the gradients of all ranks."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return ranks.sum(x.clone())

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        return ctx.ranks.sum(gradients[0].contiguous().clone()), None


def summed(x: Tensor) -> Tensor:
    """Return the sum of a tensor over the ranks that share the batch, with gradients; rows that do not count add 0."""
    own = _SHARE.get()
    if own is None:
        return x
    result: Tensor = _Sum.apply(x if own.counts else x * 0.0, own.ranks)  # type: ignore[no-untyped-call]
    return result


_OF_ITS_OWN = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._BatchNorm)


def check_shared(model: nn.Module, ranks: Ranks) -> None:
    """Refuse a model that would depend on the number of ranks, by dropout or batch statistics of each rank alone."""
    if ranks.world == 1:
        return
    for name, module in model.named_modules():
        idle = isinstance(module, Dropout) or getattr(module, "p", None) == 0.0
        if isinstance(module, _OF_ITS_OWN) and not idle:
            raise ValueError(
                f"`model` has {type(module).__name__} at {name!r}, which each of {ranks.world} ranks would draw or "
                "measure by itself. Train it in one process; `liquidtime.training.ranks` has what ranks can share."
            )
