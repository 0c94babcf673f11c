"""State in one table of a PostgreSQL database."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from liquidtime.serving.stores.store import Full, Listed, Store, Stored, StoreFailed, new_version

_WAIT, _CONNECTIONS = 5.0, 16
_LOCK = 0x6C717469
_TABLE = """
CREATE TABLE IF NOT EXISTS liquidtime_series (
    model text NOT NULL, id text NOT NULL, version bigint NOT NULL, updated double precision NOT NULL,
    content bytea NOT NULL, PRIMARY KEY (model, id)
)"""
_INDEX = "CREATE INDEX IF NOT EXISTS liquidtime_series_by_age ON liquidtime_series (model, updated)"


class PostgresqlStore(Store):
    """State in the table `liquidtime_series` of a database, which any number of machines can share.

    Args:
        address: postgresql://[user:password@]host:port/database.
        model: identity of the model of the series.

    Raises:
        StoreFailed: the database cannot be reached.

    """

    kind: ClassVar[str] = "postgresql"

    def __init__(self, address: str, model: str) -> None:
        self._model = model
        with self._failing():
            psycopg.connect(address, connect_timeout=round(_WAIT)).close()  # a pool would not report why it fails
            self._pool: ConnectionPool[Any] = ConnectionPool(
                address,
                min_size=1,
                max_size=_CONNECTIONS,
                timeout=_WAIT,
                open=True,
                kwargs={"autocommit": True, "connect_timeout": round(_WAIT)},
                configure=_bounded,
                check=ConnectionPool.check_connection,
            )
            with self._pool.connection() as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))  # for processes that start at once
                connection.execute(_TABLE)
                connection.execute(_INDEX)

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, PoolTimeout) as error:
            raise StoreFailed(f"the state in PostgreSQL cannot be used: {' '.join(str(error).split())}") from error

    def _run(self, query: str, *words: Any) -> Any:
        with self._failing(), self._pool.connection() as connection:
            return connection.execute(query, words)

    def get(self, id: str) -> Stored | None:  # noqa: D102
        query = "SELECT version, content FROM liquidtime_series WHERE model = %s AND id = %s"
        row = self._run(query, self._model, id).fetchone()
        return None if row is None else Stored(*row)

    def put(self, id: str, content: bytes, seen: int | None, updated: float, most: int) -> bool:  # noqa: D102
        if seen is not None:
            query = (
                "UPDATE liquidtime_series SET version = %s, updated = %s, content = %s "
                "WHERE model = %s AND id = %s AND version = %s"
            )
            return bool(self._run(query, new_version(), updated, content, self._model, id, seen).rowcount == 1)
        with self._failing(), self._pool.connection() as connection, connection.transaction():
            # New series are counted one after the other, so that the limit is never exceeded.
            connection.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCK, self._model))
            here = "FROM liquidtime_series WHERE model = %s"
            if connection.execute(f"SELECT 1 {here} AND id = %s", (self._model, id)).fetchone():
                return False
            counted = connection.execute(f"SELECT count(*) {here}", (self._model,)).fetchone()
            if counted[0] >= most:
                raise Full
            made = connection.execute(
                "INSERT INTO liquidtime_series VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (self._model, id, new_version(), updated, content),
            )
            return bool(made.rowcount == 1)

    def delete(self, id: str) -> bool:  # noqa: D102
        query = "DELETE FROM liquidtime_series WHERE model = %s AND id = %s"
        return bool(self._run(query, self._model, id).rowcount)

    def evict(self, before: float) -> int:  # noqa: D102
        query = "DELETE FROM liquidtime_series WHERE model = %s AND updated < %s"
        return int(self._run(query, self._model, before).rowcount)

    def newest(self, count: int) -> list[Listed]:  # noqa: D102
        query = "SELECT id, content FROM liquidtime_series WHERE model = %s ORDER BY updated DESC, id LIMIT %s"
        return [Listed(*row) for row in self._run(query, self._model, count).fetchall()]

    def count(self) -> int:  # noqa: D102
        return int(self._run("SELECT count(*) FROM liquidtime_series WHERE model = %s", self._model).fetchone()[0])

    def of_others(self) -> int:  # noqa: D102
        return int(self._run("SELECT count(*) FROM liquidtime_series WHERE model != %s", self._model).fetchone()[0])

    def note(self) -> str:  # noqa: D102
        (synced,) = self._run("SHOW synchronous_commit").fetchone()
        return "" if synced != "off" else "synchronous_commit is off here: a power failure loses the newest samples."

    def close(self) -> None:  # noqa: D102
        self._pool.close()


def _bounded(connection: Any) -> None:
    """Set a time limit for statements."""
    connection.execute(f"SET statement_timeout = {round(4 * _WAIT * 1000)}")
