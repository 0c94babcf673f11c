"""Tables of predictions that are computed and written in parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

    from liquidtime.data import SeriesSet
    from liquidtime.tasks import Task

_SERIES, _SAMPLES = 2_000, 2**18
"""Largest numbers of series and samples that are predicted together."""


def prediction_slices(task: Task, model: Any, data: SeriesSet, id: str, **options: Any) -> Iterator[polars.DataFrame]:
    """Yield the table of predictions of a set in parts.

    Args:
        task: task of the model.
        model: fitted model.
        data: the series.
        id: name of the column of ids.
        **options: options of `Task.table`.
    """
    slices = list(_slices(data))
    if len(slices) > 1:
        data = model.encoder_.aligned(data)  # so that warnings about channels appear only once
    for rows in slices:
        yield task.table(model, data if len(slices) == 1 else data[rows], id, **options)


def _slices(data: SeriesSet) -> Iterator[slice]:
    from liquidtime.data.container import neighbours

    for rows in neighbours(data.offsets, _SAMPLES):
        for low in range(rows.start, rows.stop, _SERIES):
            yield slice(low, min(low + _SERIES, rows.stop))


def write_tables(
    tables: Iterable[polars.DataFrame], out: Path, *, replace: bool, metadata: dict[str, str] | None = None
) -> tuple[int, list[str]]:
    """Write tables one after the other as one file, in the format given by its suffix, completely or not at all.

    Args:
        tables: one or more tables with the same columns.
        out: the file.
        replace: whether an existing file may be replaced.
        metadata: texts that are stored in a Parquet file.

    Returns:
        The number of rows, and the names of the columns.
    """
    from liquidtime.files.whole_files import file_in_parts

    with file_in_parts(out.absolute(), replace=replace) as file:
        if out.suffix.lower() == ".csv":
            return _write_csv(tables, file)
        return _write_parquet(tables, file, out.absolute(), metadata)


def _write_csv(tables: Iterable[polars.DataFrame], file: IO[bytes]) -> tuple[int, list[str]]:
    rows = 0
    names: list[str] = []
    for table in tables:
        file.write(table.write_csv(include_header=not names).encode())
        rows, names = rows + len(table), table.columns
    return rows, names


def _write_parquet(
    tables: Iterable[polars.DataFrame], file: IO[bytes], out: Path, metadata: dict[str, str] | None
) -> tuple[int, list[str]]:
    """Write a single table directly, or several tables by way of one temporary file for each."""
    import polars

    from liquidtime.files.temporaries import scratch_folder

    waiting = iter(tables)
    first = next(waiting)
    second = next(waiting, None)
    if second is None:
        first.write_parquet(file, metadata=metadata)
        return len(first), first.columns
    schema = {name: kind for name, kind in first.schema.items() if kind != polars.Null}
    rows = 0
    with scratch_folder(out) as scratch:
        parts = []
        for number, table in enumerate(itertools.chain((first, second), waiting)):
            parts.append(scratch / f"{number}.parquet")
            table.cast(schema).write_parquet(parts[-1])  # type: ignore[arg-type]
            rows += len(table)
        polars.scan_parquet(parts).sink_parquet(file, metadata=metadata)
    return rows, first.columns
