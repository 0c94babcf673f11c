"""What a store does: bytes by id, replaced only by those who have seen what they replace."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple


class StoreFailed(RuntimeError):
    """The store cannot be used now; what was asked for may or may not have happened."""


class Full(Exception):
    """There are as many series as are allowed, and this one is new."""


class Stored(NamedTuple):
    """A record as it is stored.

    Args:
        version: drawn at every write, so that none comes twice, not even after a series was deleted.
        content: of the record.
    """

    version: int
    content: bytes


class Listed(NamedTuple):
    """A record in a list."""

    id: str
    content: bytes


def new_version() -> int:
    """Return a version that no write had before."""
    return secrets.randbits(62) + 1


class Store(ABC):
    """The records of one model's series; any number of processes on any number of machines may use the same ones.

    Every method is one atomic step, raises `StoreFailed` where the store cannot be used, and may be called from
    several threads.

    Args:
        place: its address.
        model: which one the series are of; those of others are never seen.
    """

    kind: ClassVar[str]

    @abstractmethod
    def __init__(self, place: str, model: str) -> None: ...

    @abstractmethod
    def get(self, id: str) -> Stored | None:
        """Return the record of a series."""

    @abstractmethod
    def put(self, id: str, content: bytes, seen: int | None, updated: float, most: int) -> bool:
        """Write a record, if its series is as the caller has seen it.

        Args:
            id: of the series.
            content: the new record.
            seen: the version that it replaces; None if there must be none.
            updated: seconds since 1970, by which series grow old.
            most: series that there may be.

        Returns:
            Whether it was written; if not, another process was faster.

        Raises:
            Full: the series is new, and there are `most` of them.

        """

    @abstractmethod
    def delete(self, id: str) -> bool:
        """Forget a series; return whether there was one."""

    @abstractmethod
    def evict(self, before: float) -> int:
        """Forget the series whose newest sample was taken before a time; return how many."""

    @abstractmethod
    def newest(self, count: int) -> list[Listed]:
        """Return this many records, those with the newest samples first."""

    @abstractmethod
    def count(self) -> int:
        """Return how many series there are."""

    @abstractmethod
    def of_others(self) -> int:
        """Return how many series of other models the store holds."""

    @abstractmethod
    def note(self) -> str:
        """Return what the operator should know about how well this store keeps; empty if nothing."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""
