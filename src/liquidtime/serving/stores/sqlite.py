"""State in one file, by SQLite with a write-ahead log."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from liquidtime.serving.stores.store import Full, Listed, Store, Stored, StoreFailed, new_version

_FORMAT = 1
_WAIT = 20.0
_TABLE = """
CREATE TABLE IF NOT EXISTS series (
    model TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, updated REAL NOT NULL, content BLOB NOT NULL,
    UNIQUE (model, id)
)"""
_INDEX = "CREATE INDEX IF NOT EXISTS series_by_age ON series (model, updated)"
_APPLICATION = 0x6C717469  # "lqti"


@dataclass
class _Write:
    """A record that waits to be written, and the outcome."""

    id: str
    content: bytes
    seen: int | None
    updated: float
    most: int
    outcome: str | None = None


class SqliteStore(Store):
    """State in a file on a disk of this machine; everything that was confirmed is on the disk.

    Args:
        address: the file; created if it does not exist.
        model: identity of the model of the series.

    Raises:
        ValueError: the file is something else.
        StoreFailed: the file cannot be opened.

    """

    kind: ClassVar[str] = "sqlite"

    def __init__(self, address: str, model: str) -> None:
        from liquidtime.serving.stores import sqlite_file

        path = sqlite_file(address)
        assert path is not None
        self._path, self._model = path, model
        self._own = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._waiting: list[_Write] = []
        self._lock, self._writing = threading.Lock(), threading.Lock()
        try:
            with self._failing():
                self._prepare(self._connection())
        except StoreFailed as error:
            if "not a database" in str(error):
                raise ValueError(f"{path} is not an SQLite database; choose another file for the state") from error
            raise

    def _prepare(self, connection: sqlite3.Connection) -> None:
        tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if tables and application != _APPLICATION:
            raise ValueError(f"{self._path} is a database of another program; choose another file for the state")
        if tables and version != _FORMAT:
            raise ValueError(f"{self._path} has format {version}, but this version reads {_FORMAT}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_TABLE)
        connection.execute(_INDEX)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")
        connection.execute("COMMIT")

    def _connection(self) -> sqlite3.Connection:
        """Return the connection of this thread."""
        own = getattr(self._own, "connection", None)
        if isinstance(own, sqlite3.Connection):
            return own
        made = sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        made.execute("PRAGMA synchronous = FULL")
        self._own.connection = made
        with self._lock:
            self._all.append(made)
        return made

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise StoreFailed(f"the state in {self._path} cannot be used: {error}") from error

    def get(self, id: str) -> Stored | None:  # noqa: D102
        query = "SELECT version, content FROM series WHERE model = ? AND id = ?"
        with self._failing():
            row = self._connection().execute(query, (self._model, id)).fetchone()
        return None if row is None else Stored(*row)

    def put(self, id: str, content: bytes, seen: int | None, updated: float, most: int) -> bool:  # noqa: D102
        own = _Write(id, content, seen, updated, most)
        with self._lock:
            self._waiting.append(own)
        with self._failing(), self._writing:
            if own.outcome is None:  # otherwise the previous thread has written it
                with self._lock:
                    writes, self._waiting = self._waiting, []
                self._write(writes)
        if own.outcome == "failed":
            raise StoreFailed(f"the state in {self._path} cannot be used: a write failed")
        if own.outcome == "full":
            raise Full
        return own.outcome == "written"

    def _write(self, writes: list[_Write]) -> None:
        """Write for several threads in one transaction, which is synced to the disk once."""
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._outcome(connection, each) for each in writes]
            connection.execute("COMMIT")
        except BaseException:
            outcomes = ["failed"] * len(writes)
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()
            raise
        finally:
            for each, outcome in zip(writes, outcomes, strict=True):
                each.outcome = outcome

    def _outcome(self, connection: sqlite3.Connection, write: _Write) -> str:
        if write.seen is not None:
            changed = connection.execute(
                "UPDATE series SET version = ?, updated = ?, content = ? WHERE model = ? AND id = ? AND version = ?",
                (new_version(), write.updated, write.content, self._model, write.id, write.seen),
            )
            return "written" if changed.rowcount == 1 else "conflict"
        made = connection.execute(
            "INSERT INTO series SELECT ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM series WHERE model = ?) < ? "
            "ON CONFLICT DO NOTHING",
            (self._model, write.id, new_version(), write.updated, write.content, self._model, write.most),
        )
        if made.rowcount == 1:
            return "written"
        there = connection.execute("SELECT 1 FROM series WHERE model = ? AND id = ?", (self._model, write.id))
        return "full" if there.fetchone() is None else "conflict"

    def delete(self, id: str) -> bool:  # noqa: D102
        with self._failing(), self._writing:
            query = "DELETE FROM series WHERE model = ? AND id = ?"
            return self._connection().execute(query, (self._model, id)).rowcount == 1

    def evict(self, before: float) -> int:  # noqa: D102
        with self._failing(), self._writing:
            query = "DELETE FROM series WHERE model = ? AND updated < ?"
            return self._connection().execute(query, (self._model, before)).rowcount

    def newest(self, count: int) -> list[Listed]:  # noqa: D102
        query = "SELECT id, content FROM series WHERE model = ? ORDER BY updated DESC, id LIMIT ?"
        with self._failing():
            return [Listed(*row) for row in self._connection().execute(query, (self._model, count))]

    def count(self) -> int:  # noqa: D102
        with self._failing():
            query = "SELECT count(*) FROM series WHERE model = ?"
            return int(self._connection().execute(query, (self._model,)).fetchone()[0])

    def of_others(self) -> int:  # noqa: D102
        with self._failing():
            query = "SELECT count(*) FROM series WHERE model != ?"
            return int(self._connection().execute(query, (self._model,)).fetchone()[0])

    def note(self) -> str:  # noqa: D102
        return ""

    def close(self) -> None:  # noqa: D102
        with self._lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._own = threading.local()
