"""Where the state of series is kept: one file per store, and one line in the table."""

from __future__ import annotations

import importlib
from pathlib import Path
from urllib.parse import urlsplit

from liquidtime.errors import nearest
from liquidtime.serving.stores.store import Full, Store, Stored, StoreFailed

STORES = {
    "sqlite": "liquidtime.serving.stores.sqlite:SqliteStore",
    "redis": "liquidtime.serving.stores.redis:RedisStore",
    "rediss": "liquidtime.serving.stores.redis:RedisStore",
    "postgresql": "liquidtime.serving.stores.postgresql:PostgresqlStore",
    "postgres": "liquidtime.serving.stores.postgresql:PostgresqlStore",
}
"""The class of each kind of address, imported when it is used."""

__all__ = ["STORES", "Full", "Store", "StoreFailed", "Stored", "open_store", "sqlite_file"]


def sqlite_file(place: str) -> Path | None:
    """Return the file of an address that is one of SQLite, else None.

    Args:
        place: a path, sqlite:///path, or the address of a server.
    """
    if place.startswith("sqlite://"):
        return Path(place.removeprefix("sqlite:///") if place.startswith("sqlite:///") else place[len("sqlite://") :])
    return None if "://" in place else Path(place)


def open_store(place: str, model: str) -> Store:
    """Return the store at an address.

    Args:
        place: a path, sqlite:///path, redis://…, rediss://… or postgresql://….
        model: which one the series are of.

    Raises:
        ValueError: an address of no kind that is known.
        ImportError: the package for it is not installed.
        StoreFailed: it cannot be reached.

    """
    kind = "sqlite" if sqlite_file(place) is not None else urlsplit(place).scheme
    if kind not in STORES:
        raise ValueError(
            f"`state` must be a file, redis://…, rediss://… or postgresql://…; got {kind!r}{nearest(kind, STORES)}"
        )
    module, name = STORES[kind].split(":")
    try:
        made = getattr(importlib.import_module(module), name)(place, model)
    except ModuleNotFoundError as error:
        text = f"state in {kind} needs the package {error.name!r}: pip install 'liquidtime[serve]'"
        raise ImportError(text) from error
    assert isinstance(made, Store)
    return made
