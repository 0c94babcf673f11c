"""Stores for the state of series: one file per store, and one entry in the table."""

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
"""The class for each type of address, imported when it is used."""

__all__ = ["STORES", "Full", "Store", "StoreFailed", "Stored", "open_store", "sqlite_file"]


def sqlite_file(address: str) -> Path | None:
    """Return the file of an SQLite address, otherwise None.

    Args:
        address: a path, sqlite:///path, or the address of a server.
    """
    if address.startswith("sqlite://"):
        return Path(
            address.removeprefix("sqlite:///") if address.startswith("sqlite:///") else address[len("sqlite://") :]
        )
    return None if "://" in address else Path(address)


def open_store(address: str, model: str) -> Store:
    """Return the store at an address.

    Args:
        address: a path, sqlite:///path, redis://…, rediss://… or postgresql://….
        model: identity of the model of the series.

    Raises:
        ValueError: an address of unknown type.
        ImportError: the required package is not installed.
        StoreFailed: the store cannot be reached.

    """
    kind = "sqlite" if sqlite_file(address) is not None else urlsplit(address).scheme
    if kind not in STORES:
        raise ValueError(
            f"`state` must be a file, redis://…, rediss://… or postgresql://…; got {kind!r}{nearest(kind, STORES)}"
        )
    module, name = STORES[kind].split(":")
    try:
        made = getattr(importlib.import_module(module), name)(address, model)
    except ModuleNotFoundError as error:
        text = f"state in {kind} needs the package {error.name!r}: pip install 'liquidtime[serve]'"
        raise ImportError(text) from error
    assert isinstance(made, Store)
    return made
