"""Tables larger than memory into stored sets: read piece by piece, and written in the order of the ids."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Findings, Note, SeriesSet, arranged, neighbours
from liquidtime.data.container.series_set import BLOCK
from liquidtime.data.reading.columns import listed
from liquidtime.data.reading.files import Table
from liquidtime.data.reading.gathering import Gathering
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.rows import is_names
from liquidtime.data.reading.shards import Shard, shards_of
from liquidtime.data.reading.static_features import StaticFeatures
from liquidtime.data.stored import SetFacts, StoredSet, check_place, is_stored, open_set, write_blocks, write_set
from liquidtime.errors import nearest

ReadPart = Callable[..., SeriesSet]
"""Reads a table as `from_long` or `from_wide` do, with `static`, `categorical`, `usual` and `strict` by name."""


@dataclass(frozen=True)
class Packing:
    """How a table is read into a stored set.

    Args:
        read: reads a piece.
        id: column of ids.
        channel: column of channel names; None where a column is a channel.
        static: names, or a table with one row per series.
        static_table: such a table besides.
        static_id: its column of ids.
        categorical: names of categorical channels and features.
        leave: columns of the tables that are no features.
        strict: refuse what would be repaired.
        reading: how tables are read.
        columns: what is written down of all this.
    """

    read: ReadPart
    id: str
    channel: str | None
    static: Any
    static_table: Any
    static_id: str | None
    categorical: Sequence[str]
    leave: Sequence[str]
    strict: bool
    reading: Reading
    columns: Mapping[str, Any]

    @staticmethod
    def of(
        read: Any,
        named: Mapping[str, Any],
        given: Mapping[str, Any],
        static_id: str | None,
        leave: Sequence[str],
        strict: bool,
        reading: Reading,
    ) -> Packing:
        """Return what the arguments of `from_long` and `from_wide` say.

        Args:
            read: the function, with the columns and options of reading that are the same for all pieces.
            named: `id`, `time` and what else names columns, by argument.
            given: `static`, `static_table` and `categorical`.
            static_id: as of the function; so are the following.
            leave: likewise.
            strict: likewise.
            reading: likewise.
        """
        names = {"channel": None, "value": None, **named}
        names["values"] = tuple(named.get("values") or ())
        static = tuple(given["static"]) if is_names(given["static"]) else ()
        table = given["static_table"] is not None or not is_names(given["static"])
        columns = {
            **names, "static": static, "categorical": tuple(given["categorical"]), "missing": reading.missing,
            "static_id": (static_id or named["id"]) if table else None,
        }  # fmt: skip
        return Packing(
            read, str(named["id"]), names["channel"], given["static"], given["static_table"], static_id,
            given["categorical"], leave, strict, reading, columns,
        )  # fmt: skip

    def write(self, source: Any, out: Any, *, gather: bool = True, replace: bool = False) -> StoredSet:
        """Read a table piece by piece and write it as a stored set.

        Args:
            source: whatever `from_long` takes.
            out: the folder to write.
            gather: look first which series are spread over several pieces, and bring those together. Without, every
                file must hold its series whole, and a file must fit into memory.
            replace: whether a stored set of that name may be replaced.

        Raises:
            ValueError: a file that lacks a column; without `gather` a series in two files, which are named.

        """
        place = check_place(out, replace=replace)
        with tempfile.TemporaryDirectory(prefix=f".{place.name}.", suffix=".parts", dir=place.parent) as name:
            scratch = Path(name)
            shards = shards_of(source, self.reading, scratch, whole=not gather)
            parts = list(self._parts(shards, scratch, gather))
            return self._joined(parts, place, replace)

    def _parts(self, shards: Sequence[Shard], scratch: Path, gather: bool) -> Iterator[StoredSet]:
        """Yield the series of each piece, written to the scratch folder."""
        if self.id not in shards[0].columns:
            hint = nearest(self.id, list(shards[0].columns)) or "."
            raise ValueError(
                f"`id` must name a column; there is none called {self.id!r}{hint} The columns are "
                f"{listed(shards[0].columns)}."
            )
        gathering = Gathering.of(shards, self.id, scratch) if gather and len(shards) > 1 else None
        usual = self.reading.usual
        seen: dict[str, str] = {}
        tables = gathering.tables() if gathering else ((shard.name, shard.read(None)) for shard in shards)
        for number, (name, table) in enumerate(tables):
            try:
                part = self._part(table, usual)
            except (ValueError, TypeError) as error:
                if len(shards) == 1:
                    raise
                raise type(error)(f"{name}: {error}") from None
            usual = part.reading if usual is None else usual
            for one in [] if gathering or len(shards) == 1 else part.ids.tolist():
                other = seen.setdefault(str(one), name)
                if other != name:
                    raise ValueError(
                        f"series {one} is in {other!r} and in {name!r}; without the first pass, which gathers series, "
                        "every file must hold its series whole. Leave out gather=False."
                    )
            yield write_set(part, scratch / f"part-{number}")

    def _part(self, table: Table, usual: Mapping[str, str] | None) -> SeriesSet:
        """Read one piece with the static features and categories that it has."""
        names = set(table.frame.columns)
        if self.channel in names:
            names |= {str(name).strip() for name in table.frame[self.channel].cast(str).unique().drop_nulls()}
        static = [name for name in self.static if name in names] if is_names(self.static) else []
        categorical = [name for name in self.categorical if name in names]
        return self.read(table, static=static, categorical=categorical, usual=usual, strict=self.strict)

    def _joined(self, parts: Sequence[StoredSet], place: Path, replace_old: bool) -> StoredSet:
        """Write the parts as one set, series in the order of their ids."""
        texts = any(part.ids.dtype.kind == "U" for part in parts)
        ids = np.concatenate([part.ids.astype(np.str_) if texts else part.ids for part in parts])
        order = np.argsort(ids, kind="stable")
        channels = self._channels(parts)
        own = [name for name in self.static if any(name in part.static_names for part in parts)]
        categories = _united([part.categories for part in parts])
        findings = Findings(self.strict)
        features = StaticFeatures(len(ids), findings)
        for table in (None if is_names(self.static) else self.static, self.static_table):
            if table is not None:
                owner = self.static_id or self.id
                features.add_table(table, owner, ids[order], self.categorical, self.reading, self.leave)
        self._check_names([*channels, *own, *features.names], own)
        static = np.concatenate(
            [arranged(part.static, part.static_names, part.categories, own, categories) for part in parts]
        )
        brought, origins = _one_clock(parts)
        facts = SetFacts(
            ids=ids[order],
            lengths=np.concatenate([part.lengths for part in parts])[order],
            static=np.concatenate([static[order], features.matrix()], axis=1),
            channels=channels,
            static_names=(*own, *features.names),
            time_unit=parts[0].time_unit,
            categories=categories | features.categories,
            origins=None if origins is None else origins[order],
            notes=(*_added(note for part in parts for note in part.notes), *findings.notes),
            reading=parts[0].reading,
            columns=self.columns,
        )
        return write_blocks(facts, _in_order(brought, order, facts), place, replace=replace_old)

    def _channels(self, parts: Sequence[SeriesSet]) -> tuple[str, ...]:
        """Return the channels of all parts: in the order of their names, or of the columns."""
        names = list(dict.fromkeys(name for part in parts for name in part.channels))
        if self.channel is None:
            return tuple(names)
        whole = all(name.lstrip("-").isdecimal() and str(int(name)) == name for name in names)
        numbers = whole and all(list(part.channels) == sorted(part.channels, key=int) for part in parts)
        return tuple(sorted(names, key=int) if numbers else sorted(names))

    def _check_names(self, names: Collection[str], own: Collection[str]) -> None:
        """Refuse static features and categories that no piece has."""
        for argument, wanted, known in (
            ("static", self.static if is_names(self.static) else (), own),
            ("categorical", self.categorical, names),
        ):
            for name in wanted:
                if name not in known:
                    hint = nearest(name, list(names)) or "."
                    raise ValueError(f"`{argument}` must name columns or channels; {name!r} is neither{hint}")


def _in_order(parts: Sequence[SeriesSet], order: npt.NDArray[np.int64], facts: SetFacts) -> Iterator[SeriesSet]:
    """Yield the series of all parts in another order, some at a time."""
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])[order]
    starts = np.cumsum([0, *(len(part) for part in parts)])
    places = order - starts[owners]
    offsets = np.concatenate([[0], np.cumsum(facts.lengths)]).astype(np.int64)
    brought = [part.arranged_as(facts.channels, (), dict(facts.categories)) for part in parts]
    for rows in neighbours(offsets, BLOCK):
        here = [(part, np.flatnonzero(owners[rows] == part)) for part in np.unique(owners[rows])]
        pieces = [brought[part][places[rows][own]] for part, own in here]
        if len(pieces) == 1:
            yield pieces[0]
            continue
        lengths = np.concatenate([piece.lengths for piece in pieces])
        together = pieces[0].replace_unchecked(
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            times=np.concatenate([piece.times for piece in pieces]),
            values=np.concatenate([piece.values for piece in pieces]),
            ids=np.concatenate([own for _, own in here]),
            static=np.empty((len(lengths), 0), dtype=np.float32),
            origins=None,
        )
        yield together[np.argsort(together.ids, kind="stable")]


def _one_clock(parts: Sequence[StoredSet]) -> tuple[Sequence[SeriesSet], npt.NDArray[Any] | None]:
    """Return the parts with times of one kind, and the origins of all series; some may have large whole numbers."""
    kinds = {None if part.origins is None else part.origins.dtype.kind for part in parts if len(part)}
    if len(kinds) > 1 and "M" in kinds:
        raise ValueError("`time` must be time stamps in all pieces, or numbers in all; got both")
    if kinds == {None}:
        return parts, None
    brought = [part if part.origins is not None else _from_first(part.load()) for part in parts]
    return brought, np.concatenate([part.origins for part in brought if part.origins is not None])


def _from_first(part: SeriesSet) -> SeriesSet:
    """Return numbers of no origin counted from the first sample of each series."""
    some = part.lengths > 0
    origins = np.zeros(len(part), dtype=np.int64)
    origins[some] = part.times[part.offsets[:-1][some]].astype(np.int64)
    return part.replace_unchecked(times=part.times - np.repeat(origins, part.lengths), origins=origins)


def _united(all_of_them: Sequence[Mapping[str, Sequence[str]]]) -> dict[str, tuple[str, ...]]:
    """Return the categories of all pieces, in the order of their names."""
    united: dict[str, set[str]] = {}
    for categories in all_of_them:
        for name, labels in categories.items():
            united.setdefault(name, set()).update(labels)
    return {name: tuple(sorted(labels)) for name, labels in united.items()}


def _added(notes: Iterator[Note]) -> list[Note]:
    """Merge notes with the same text; notes on columns are kept once."""
    joined: dict[tuple[str, str], Note] = {}
    for note in notes:
        before = joined.get((note.kind, note.what))
        if before is None:
            joined[note.kind, note.what] = note
        elif not note.what.startswith("columns"):
            first = tuple(word for word in (*before.first, *note.first) if word != "…")
            shown = (*first[:3], "…") if len(first) > 3 else first
            joined[note.kind, note.what] = replace(
                before, count=before.count + note.count, of=before.of + note.of, first=shown
            )
    return list(joined.values())


def stored_already(frame: Any, given: Mapping[str, Any]) -> SeriesSet | None:
    """Return a set that was read before, or opened from its folder; None for any table.

    Args:
        frame: what is to be read.
        given: arguments that say how; a set that was read takes none of them.

    Raises:
        ValueError: one of them says something.

    """
    if not isinstance(frame, SeriesSet) and not is_stored(frame):
        return None
    for name, value in given.items():
        if value is not None and not (isinstance(value, tuple | list) and len(value) == 0) and name != "usual":
            raise ValueError(f"`{name}` is for tables, not for a stored set. Leave it out, or pack the set again.")
    return frame if isinstance(frame, SeriesSet) else open_set(frame)


def refuse_ids(ids: Any) -> None:
    """Refuse a choice of series where all are written."""
    if ids is not None:
        raise ValueError("`ids` is for sets in memory; with `out`, all series are written. Select series afterwards.")
