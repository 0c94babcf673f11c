"""The shards, the files of their predictions, and checks that every series is in only one of them."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liquidtime.scoring.shards import SEAL, Request

if TYPE_CHECKING:
    import polars

    from liquidtime.data import SeriesSet

BLOCK = 20_000
"""Number of series of a stored set in a shard."""


@dataclass(frozen=True)
class Shard:
    """A shard and the file of its predictions.

    Args:
        name: name in messages.
        source: the file, or the folder of a stored set.
        rows: range of the series of a stored set; None for a file.
        out: file of the predictions.
        seal: sha256 of everything on which the predictions depend: model, options and the name, size and modification
            time of the file.
    """

    name: str
    source: Path
    rows: tuple[int, int] | None
    out: Path
    seal: str

    def is_done(self) -> bool:
        """Return whether the predictions of this model for this shard already exist."""
        return seal_of(self.out) == self.seal

    def read(self, request: Request, estimator: Any) -> tuple[SeriesSet | None, Any]:
        """Return the series, and the frame from which they were read; None for the series if there are no rows."""
        from liquidtime.data.reading.files import read_file
        from liquidtime.data.stored import open_set

        columns, encoder = request.columns, estimator.encoder_
        if self.rows is not None:
            data = open_set(self.source, verify=False)[slice(*self.rows)]
            unit = encoder.time_unit_
            return (data.in_unit(unit) if unit is not None and data.time_unit not in (None, unit) else data), None
        table = read_file(self.source, request.reading.reading(columns.reading))
        table = dataclasses.replace(table, frame=_with_file(table.frame, self.source, columns.id))
        if not len(table.frame):
            return None, table.frame
        names = encoder.channels_, encoder.static_names_
        return columns.read_new(table, request.reading, *names, encoder.time_unit_, request.strict), table.frame


def seal_of(file: Path) -> str | None:
    """Return the seal stored in a file of predictions; None for any other file, or if there is none."""
    import polars

    try:
        return polars.read_parquet_metadata(file).get(SEAL) if file.is_file() else None
    except (polars.exceptions.PolarsError, OSError, ValueError):
        return None


def planned(shards: Any, request: Request, model: str) -> list[Shard]:
    """Return the shards in order.

    Args:
        shards: location of the shards.
        request: the predictions to make.
        model: sha256 of the manifest of the model.

    Raises:
        FileNotFoundError: there are none.
        ValueError: two would be written to the same file.

    """
    from liquidtime.data.reading.files import files_of, is_source, stem_of
    from liquidtime.data.stored import is_stored, open_set

    if not is_source(shards):
        raise TypeError(f"`shards` must be a folder, a pattern, files or a stored set; got {type(shards).__name__}")
    sources = list(shards) if isinstance(shards, list | tuple) else [shards]
    sets = [source for source in sources if is_stored(source)]
    if sets:
        if len(sources) > 1:
            raise ValueError(f"{sets[0]} is a stored set, which must be the only source; got {len(sources)} sources")
        folder = Path(sets[0]).absolute()
        total = len(open_set(folder))  # every checksum and sample is checked only once
        return [
            _shard(request, model, folder, (low, min(low + BLOCK, total)), f"series-{low:09d}")
            for low in range(0, total, BLOCK)
        ]
    plan: dict[Path, Shard] = {}
    for file in (file.absolute() for source in sources for file in files_of(source)):
        shard = _shard(request, model, file, None, stem_of(file))
        if shard.out in plan:
            raise ValueError(
                f"{plan[shard.out].source} and {file} would both be written to {shard.out.name}; predict them into "
                "two folders, or rename one"
            )
        plan[shard.out] = shard
    return list(plan.values())


def _shard(request: Request, model: str, source: Path, rows: tuple[int, int] | None, stem: str) -> Shard:
    from liquidtime.files.sealed import MANIFEST

    facts = (source if rows is None else source / MANIFEST).stat()
    asked = dataclasses.replace(request, model=Path(), out=Path(), reading=request.reading.plain())
    words = (model, repr(asked), source.name, rows, facts.st_size, facts.st_mtime_ns)
    seal = hashlib.sha256(repr(words).encode()).hexdigest()
    name = source.name if rows is None else f"series {rows[0]:,} to {rows[1]:,} of {source.name}"
    return Shard(name, source, rows, request.out / f"{stem}.parquet", seal)


def check_shards(plan: Sequence[Shard], request: Request, estimator: Any) -> None:
    """Refuse a shard that lacks a column of the first one, and a series that is in two shards.

    While shards are read, ids are kept as numbers of 8 bytes.

    Raises:
        ValueError: one of these, with the names of the shards and the id.

    """
    columns = request.columns
    if plan[0].rows is not None:
        return
    wanted = [columns.id, columns.time]
    wanted += [name for name in (columns.channel, columns.value) if name is not None]
    ids, first = [], None
    for shard in plan:
        names, own = _columns_and_ids(shard, request)
        first = first or names
        needed = [*wanted, *(name for name in (*estimator.encoder_.channels_, *columns.static) if name in first)]
        lacking = next((name for name in needed if name not in names), None)
        if lacking is not None:
            beside = f", which {plan[0].name!r} has" if lacking in first else ""
            raise ValueError(f"the shard {shard.name!r} lacks the column {lacking!r}{beside}")
        assert own is not None
        ids.append(np.asarray(own.unique().hash().to_numpy()))
    whole = np.concatenate(ids)
    order = np.argsort(whole, kind="stable")
    twice = np.flatnonzero(whole[order][1:] == whole[order][:-1])
    owners = np.repeat(np.arange(len(plan)), [len(own) for own in ids])
    for place in twice:
        one, other = (plan[int(owners[order[place + step]])] for step in (0, 1))
        both = set(_ids(one, request)) & set(_ids(other, request))  # two ids may share a number
        if both:
            raise ValueError(
                f"series {min(both)!r} is in two shards, {one.name!r} and {other.name!r}; each shard must hold whole "
                "series. Combine them with `liquidtime pack` and predict the stored set."
            )


def _ids(shard: Shard, request: Request) -> list[str]:
    own = _columns_and_ids(shard, request)[1]
    return [] if own is None else own.to_list()


def _columns_and_ids(shard: Shard, request: Request) -> tuple[list[str], polars.Series | None]:
    """Return the columns of a file, and its ids as strings; None if it has no such column."""
    import polars

    from liquidtime.data.reading.files import ending_of, read_file
    from liquidtime.data.reading.gathering import ids_as_text

    id = request.columns.id
    scans: dict[str, Any] = {".parquet": polars.scan_parquet, ".arrow": polars.scan_ipc, ".ipc": polars.scan_ipc}
    scan = scans.get(ending_of(shard.source))
    if scan is None:
        frame = read_file(shard.source, request.reading.reading(request.columns.reading)).frame
        frame = _with_file(frame, shard.source, id)
        names = frame.columns
    else:
        try:
            lazy = scan(shard.source)
            names = lazy.collect_schema().names()
            frame = _with_file(lazy.select(id if id in names else []).collect(), shard.source, id)
        except (polars.exceptions.PolarsError, EOFError, OSError) as error:
            raise ValueError(
                f"{shard.name!r} cannot be read as {ending_of(shard.source)[1:]}: {str(error).splitlines()[0]}"
            ) from None
        names = [*names, *(name for name in frame.columns if name not in names)]
    return names, ids_as_text(frame[id]).drop_nulls() if id in frame.columns else None


def _with_file(frame: polars.DataFrame, file: Path, id: str) -> polars.DataFrame:
    """Return a frame with the name of its file as ids, if files are series."""
    import polars

    from liquidtime.data.reading.files import FILE, stem_of

    if id != FILE or FILE in frame.columns:
        return frame
    return frame.with_columns(polars.lit(stem_of(file)).alias(FILE))
