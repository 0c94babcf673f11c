"""Split tables into pieces: files, parts of a large file, of a lazy frame or of a dataset, each read when needed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw

from liquidtime.data.reading.files import (
    FILE,
    Table,
    compare_columns,
    ending_of,
    files_of,
    is_source,
    read_file,
    read_table,
    stem_of,
)
from liquidtime.data.reading.opening import open_table
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.sql import is_database

ROWS = 1_000_000
"""Number of rows of a large file that are read at once."""


@dataclass(frozen=True)
class Shard:
    """A piece of a table.

    Args:
        name: name of the piece, for messages.
        file: name of the file that it is part of, for messages.
        columns: names of its columns.
        texts: names of the columns that are text.
        read: reads the piece: all columns, or those that are named.
    """

    name: str
    file: str
    columns: tuple[str, ...]
    texts: frozenset[str]
    read: Callable[[Sequence[str] | None], Table]


def is_dataset(source: Any) -> bool:
    """Return whether an object is a pyarrow `Dataset`."""
    return type(source).__module__.partition(".")[0] == "pyarrow" and hasattr(source, "get_fragments")


def is_lazy(source: Any) -> bool:
    """Return whether an object is a lazy frame of polars."""
    return bool(nw.dependencies.is_polars_lazyframe(source))


def shards_of(source: Any, reading: Reading, scratch: Path, whole: bool) -> list[Shard]:
    """Return the pieces of a table in order.

    Args:
        source: table that `from_long` takes.
        reading: options for reading text files.
        scratch: folder for temporary files.
        whole: whether every file is one piece, however large it is.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the columns of a file differ from those of the first, or the table is empty.

    """
    sources = [source] if isinstance(source, str | os.PathLike) else source
    if is_source(source) and not (len(sources) == 1 and is_database(str(sources[0]))):
        if reading.query is not None:
            raise ValueError(f"`query` is for a database, such as 'sqlite:///file.db'; got {str(sources[0])!r}")
        files = [file for item in sources for file in files_of(item)]
        shards = [shard for file in files for shard in _of_file(file, reading, whole, len(files) > 1)]
    elif is_lazy(source):
        source.sink_parquet(scratch / "frame.parquet", maintain_order=True)
        shards = list(_of_file(scratch / "frame.parquet", Reading(), False, False, "the frame"))
    elif is_dataset(source):
        shards = list(_of_dataset(source, scratch))
    else:
        shards = [_in_memory(source, reading)]
    if not shards:
        raise ValueError("`frame` must have rows; got an empty table")
    for shard in shards[1:]:
        compare_columns(shards[0].file, shards[0].columns, shard.file, shard.columns)
    return shards


def _in_memory(source: Any, reading: Reading) -> Shard:
    if is_source(source):
        table = read_table(source, reading)
    elif isinstance(source, Table):
        table = source
    else:
        opened = open_table("frame", source, reading)
        table = Table(opened.frame.to_polars(), opened.formats, opened.notes, opened.added)
    columns = tuple(table.frame.columns)

    def read(names: Sequence[str] | None) -> Table:
        return table if names is None else replace(table, frame=table.frame.select(names))

    return Shard("the table", "the table", columns, _texts(table.frame.schema), read)


def _of_file(file: Path, reading: Reading, whole: bool, several: bool, name: str | None = None) -> Iterator[Shard]:
    """Yield the pieces of a file; if there are several files, a column with the name of the file is added."""
    import polars

    scans: dict[str, Any] = {".parquet": polars.scan_parquet, ".arrow": polars.scan_ipc, ".ipc": polars.scan_ipc}
    scan = scans.get(ending_of(file))
    if scan is None:
        yield _of_text(file, reading, several)
        return
    for option in ("separator", "encoding"):
        if getattr(reading, option) is not None:
            raise ValueError(f"`{option}` is for text files, and {file.name!r} is not one. Leave it out.")
    try:
        lazy = scan(file, glob=False) if scan is polars.scan_parquet else scan(file)
        schema = lazy.collect_schema()
        total = int(lazy.select(polars.len()).collect().item())
    except (polars.exceptions.PolarsError, EOFError, OSError) as error:
        raise ValueError(
            f"{file.name!r} cannot be read as {ending_of(file)[1:]}: {str(error).splitlines()[0]}"
        ) from None
    added = (FILE,) if several and FILE not in schema else ()
    for low in range(0, total, total if whole else ROWS):
        high = total if whole else min(low + ROWS, total)
        words = name or file.name
        yield Shard(
            words if high - low == total else f"rows {low:,} to {high:,} of {words}",
            words,
            (*schema.names(), *added),
            _texts(schema) | frozenset(added),
            _reader(lazy, low, high - low, file, added),
        )


def _reader(lazy: Any, low: int, count: int, file: Path, added: tuple[str, ...]) -> Callable[..., Table]:
    import polars

    def read(names: Sequence[str] | None) -> Table:
        frame = lazy.slice(low, count)
        for name in added:
            frame = frame.with_columns(polars.lit(stem_of(file)).alias(name))
        try:
            return Table((frame if names is None else frame.select(names)).collect(), added=added)
        except (polars.exceptions.PolarsError, EOFError) as error:
            raise ValueError(f"{file.name!r} cannot be read: {str(error).splitlines()[0]}") from None

    return read


def _of_text(file: Path, reading: Reading, several: bool) -> Shard:
    """Return a text file as one piece, because the types of its columns follow from all of its rows."""
    import polars

    def read(names: Sequence[str] | None = None) -> Table:
        table = read_file(file, reading)
        if several and FILE not in table.frame.columns:
            table = replace(table, frame=table.frame.with_columns(polars.lit(stem_of(file)).alias(FILE)), added=(FILE,))
        return table if names is None else replace(table, frame=table.frame.select(names))

    frame = read().frame
    return Shard(file.name, file.name, tuple(frame.columns), _texts(frame.schema), read)


def _texts(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the columns that are text."""
    import polars

    return frozenset(name for name, kind in schema.items() if kind == polars.String)


def _of_dataset(dataset: Any, scratch: Path) -> Iterator[Shard]:
    """Yield the pieces of a pyarrow dataset, which are first copied to the scratch folder one after the other."""
    import polars

    number = 0
    for fragment in dataset.get_fragments():
        name = Path(str(getattr(fragment, "path", "") or "")).name or "the dataset"
        present, parted = fragment.physical_schema.names, str(fragment.partition_expression)
        for column in dataset.schema.names:
            if column not in present and not re.search(rf"\b{re.escape(column)}\b", parted):
                raise ValueError(f"files must have the columns of the dataset; {name!r} lacks {column!r}")
        waiting: list[Any] = []
        batches = fragment.to_batches(schema=dataset.schema, batch_size=2**16)
        for batch in (*batches, None):
            rows = sum(part.num_rows for part in waiting)
            if waiting and (batch is None or rows >= ROWS):
                table = polars.from_arrow(waiting)
                file = scratch / f"dataset-{number}.parquet"
                assert isinstance(table, polars.DataFrame)
                table.write_parquet(file)
                yield replace(next(_of_file(file, Reading(), True, False)), name=name, file=name)
                number, waiting = number + 1, []
            if batch is not None and batch.num_rows:
                waiting.append(batch)
