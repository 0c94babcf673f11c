"""The interface of a store: bytes by id, which can be replaced only by callers who have seen the present version."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple


class StoreFailed(RuntimeError):
    """The store cannot be used now; the operation may or may not have happened."""


class Full(Exception):
    """The largest number of series is reached, and this one is new."""


class Stored(NamedTuple):
    """A stored record.

    Args:
        version: random number drawn at every write, so that none occurs twice, even after a series was deleted.
        content: content of the record.
    """

    version: int
    content: bytes


class Listed(NamedTuple):
    """A record in a list."""

    id: str
    content: bytes


def new_version() -> int:
    """Return a version that no earlier write had."""
    return secrets.randbits(62) + 1


class Store(ABC):
    """The records of one model's series; any number of processes on any number of machines can share them.

    Every method is atomic, raises `StoreFailed` if the store cannot be used, and may be called from several threads.

    Args:
        address: address of the store.
        model: identity of the model of the series; series of other models are invisible.
    """

    kind: ClassVar[str]

    @abstractmethod
    def __init__(self, address: str, model: str) -> None: ...

    @abstractmethod
    def get(self, id: str) -> Stored | None:
        """Return the record of a series."""

    @abstractmethod
    def put(self, id: str, content: bytes, seen: int | None, updated: float, most: int) -> bool:
        """Write a record, if its series has not changed since the caller has read it.

        Args:
            id: id of the series.
            content: the new record.
            seen: the version to replace; None if there must be none.
            updated: time in seconds since 1970, from which the age of the series is computed.
            most: largest number of series.

        Returns:
            Whether it was written; if not, another process was faster.

        Raises:
            Full: the series is new, and there are already `most` series.

        """

    @abstractmethod
    def delete(self, id: str) -> bool:
        """Remove a series; return whether there was one."""

    @abstractmethod
    def evict(self, before: float) -> int:
        """Remove the series whose newest sample was processed before a time; return their number."""

    @abstractmethod
    def newest(self, count: int) -> list[Listed]:
        """Return up to `count` records, those with the newest samples first."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of series."""

    @abstractmethod
    def of_others(self) -> int:
        """Return the number of series of other models in the store."""

    @abstractmethod
    def note(self) -> str:
        """Return a remark for the operator on the durability of this store; empty if there is none."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""
