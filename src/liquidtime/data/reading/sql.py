"""Read tables from databases: the rows of a query, without write access."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

_URL = re.compile(r"^[A-Za-z][\w+.-]*://")
ENDINGS = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
"""Kinds of databases in a file, by the ending of the file."""


def is_database(source: str) -> bool:
    """Return whether a source is a connection URL, or a file with the ending of a database."""
    return bool(_URL.match(source)) or Path(source).suffix.lower() in ENDINGS


def without_password(source: str) -> str:
    """Return a connection URL without its password, to be shown or stored."""
    return re.sub(r"^([\w+.-]+://[^:/@]*):[^@]*@", r"\1@", source)


def file_of_database(source: str) -> Path | None:
    """Return the file of a database; None where it is a server."""
    return _file_of(source)[1]


def read_query(source: str, query: str | None) -> polars.DataFrame:
    """Return the rows of a query.

    Args:
        source: `duckdb:///file`, `sqlite:///file`, a file of either kind, or any URL that SQLAlchemy supports.
        query: query in SQL.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: the package for this database is not installed.
        ValueError: there is no query, or it fails.

    """
    shown = without_password(source)
    if query is None:
        raise ValueError(
            f"{shown!r} is a database; give the rows to read with `query`, such as 'SELECT * FROM measurements'"
        )
    kind, file = _file_of(source)
    if file is not None and not file.is_file():
        raise FileNotFoundError(f"there is no file {str(file)!r}")
    try:
        if kind == "duckdb":
            return _from_duckdb(file, query)
        return _from_connection(_sqlite(file) if file is not None else _sqlalchemy(source), query)
    except ImportError:
        raise
    except Exception as error:  # every driver raises its own errors
        text = " ".join(str(error).split()).replace(source, shown)
        raise ValueError(f"the query of {shown!r} failed: {text[:300]}") from None


def _file_of(source: str) -> tuple[str, Path | None]:
    """Return the kind of database and its file; None for the file if it is a server."""
    scheme, mark, rest = source.partition("://")
    if not mark:
        return ENDINGS[Path(source).suffix.lower()], Path(source)
    scheme = scheme.lower()
    if scheme in ("duckdb", "sqlite"):
        path = rest.removeprefix("/") if not rest.startswith("//") else rest[1:]
        return scheme, None if scheme == "duckdb" and path in ("", ":memory:") else Path(path)
    return scheme, None


def _from_duckdb(file: Path | None, query: str) -> polars.DataFrame:
    import polars

    duckdb = _package("duckdb")
    connection = duckdb.connect() if file is None else duckdb.connect(str(file), read_only=True)
    try:
        rows = connection.execute(query)
        names = [column[0] for column in rows.description]
        return polars.DataFrame(rows.fetchall(), schema=names, orient="row", infer_schema_length=None)
    finally:
        connection.close()


def _sqlite(file: Path) -> Any:
    import sqlite3

    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)


def _sqlalchemy(source: str) -> Any:
    return _package("sqlalchemy").create_engine(source).connect()


def _from_connection(connection: Any, query: str) -> polars.DataFrame:
    import polars

    try:
        return polars.read_database(query, connection, infer_schema_length=None)
    finally:
        connection.close()


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"this database needs the package {name}: pip install 'liquidtime[sql]'") from None
