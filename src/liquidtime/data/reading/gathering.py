"""Bring together series that are spread over several pieces of a table, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from liquidtime.data.reading import shards as pieces
from liquidtime.data.reading.files import Table
from liquidtime.data.reading.shards import Shard

if TYPE_CHECKING:
    import polars

_ID, _GROUP = "__id__", "__group__"


@dataclass(frozen=True, eq=False)
class Gathering:
    """The pieces of a table, and the result of a first pass over their ids.

    Args:
        shards: pieces of the table.
        id: name of the id column.
        groups: ids that are in several pieces, as texts, and the group in which each is gathered; the series of a
            group have about as many rows together as one piece.
        texts: columns that are text in some of the pieces.
        scratch: folder for the rows of such series.
    """

    shards: Sequence[Shard]
    id: str
    groups: polars.DataFrame
    texts: frozenset[str]
    scratch: Path

    @staticmethod
    def of(shards: Sequence[Shard], id: str, scratch: Path) -> Gathering:
        """Read the ids of all pieces, and find those that are in several."""
        import polars

        counted = []
        for shard in shards:
            frame = shard.read([id]).frame
            counted.append(frame.select(ids_as_text(frame[id])).drop_nulls().group_by(_ID).len())
        spread = (
            polars.concat(counted)
            .group_by(_ID)
            .agg(polars.len().alias("pieces"), polars.col("len").sum().alias("rows"))
            .filter(polars.col("pieces") > 1)
            .sort(_ID)
        )
        group = (np.cumsum(spread["rows"].to_numpy()) - 1) // max(1, pieces.ROWS)
        groups = spread.select(_ID).with_columns(polars.Series(_GROUP, group.astype(np.int64)))
        texts: frozenset[str] = frozenset().union(*(shard.texts for shard in shards))
        return Gathering(shards, id, groups, texts, scratch)

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Yield tables in which every series is complete, each with the name of its piece."""
        import polars

        files: dict[int, list[Path]] = {}
        last: Table | None = None
        for number, shard in enumerate(self.shards):
            table = shard.read(None)
            mixed = [name for name in self.texts if table.frame[name].dtype != polars.String]
            frame = table.frame.with_columns(polars.col(mixed).cast(polars.String)) if mixed else table.frame
            if len(self.groups):
                keyed = frame.with_columns(ids_as_text(frame[self.id]))
                keyed = keyed.join(self.groups, on=_ID, how="left", maintain_order="left").drop(_ID)
                frame = keyed.filter(polars.col(_GROUP).is_null()).drop(_GROUP)
                spread = keyed.filter(polars.col(_GROUP).is_not_null())
                for (group,), rows in spread.partition_by(
                    _GROUP, as_dict=True, maintain_order=True, include_key=False
                ).items():
                    file = self.scratch / f"group-{group}-{number}.parquet"
                    rows.write_parquet(file, compression="lz4")
                    files.setdefault(int(group), []).append(file)
            last = replace(table, frame=frame)
            if len(frame):
                yield shard.name, last
        for group, own in sorted(files.items()):
            assert last is not None
            whole = polars.concat([polars.read_parquet(file) for file in own], how="vertical_relaxed")
            yield f"gathered series {group + 1}", replace(last, frame=whole, notes=())
            for file in own:
                file.unlink()


def ids_as_text(ids: polars.Series) -> polars.Series:
    """Return ids as texts, whole numbers without a fraction, so that 7, 7.0 and "7" are the same id."""
    import polars

    if ids.dtype.is_float():
        whole = ids.cast(polars.Int64, strict=False)
        if (whole.cast(ids.dtype) == ids).all():
            ids = whole
    return ids.cast(polars.String).alias(_ID)
