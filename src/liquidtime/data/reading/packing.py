"""Write tables larger than memory as stored sets: they are read piece by piece, and written in the order of the ids."""

from __future__ import annotations

import errno
import os
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
from liquidtime.files.temporaries import scratch_folder
from liquidtime.files.whole_files import SaveFailed, system_errors

ReadPart = Callable[..., SeriesSet]
"""Reads a table as `from_long` or `from_wide` does, with `static`, `categorical`, `usual` and `strict` by name."""


@dataclass(frozen=True)
class Packing:
    """How a table is written as a stored set.

    Args:
        read: function that reads a piece.
        id: name of the id column.
        channel: column with channel names; None if each channel is a column.
        static: names of static features, or a table with one row per series.
        static_table: another table with one row per series.
        static_id: id column of `static_table`.
        categorical: names of categorical channels and features.
        leave: columns of the tables that are not features.
        strict: refuse data that would have to be repaired.
        reading: options for reading tables.
        columns: the arguments above that are stored with the set.
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
        features: Mapping[str, Any],
        static_id: str | None,
        leave: Sequence[str],
        strict: bool,
        reading: Reading,
    ) -> Packing:
        """Return the packing for the arguments of `from_long` or `from_wide`.

        Args:
            read: the function, with the columns and options that are the same for all pieces.
            named: `id`, `time` and other arguments that name columns.
            features: `static`, `static_table` and `categorical`.
            static_id: argument of the function.
            leave: argument of the function.
            strict: argument of the function.
            reading: options for reading tables.
        """
        names = {"channel": None, "value": None, **named}
        names["values"] = tuple(named.get("values") or ())
        static = tuple(features["static"]) if is_names(features["static"]) else ()
        table = features["static_table"] is not None or not is_names(features["static"])
        columns = {
            **names, "static": static, "categorical": tuple(features["categorical"]), "missing": reading.missing,
            "static_id": (static_id or named["id"]) if table else None,
        }  # fmt: skip
        return Packing(
            read, str(named["id"]), names["channel"], features["static"], features["static_table"], static_id,
            features["categorical"], leave, strict, reading, columns,
        )  # fmt: skip

    def write(self, source: Any, out: Any, *, gather: bool = True, replace: bool = False) -> StoredSet:
        """Read a table piece by piece and write it as a stored set.

        Args:
            source: table that `from_long` takes.
            out: folder to write.
            gather: first look for series that are spread over several pieces, and bring them together. Otherwise,
                every file must hold its series whole, and must fit into memory.
            replace: whether an existing stored set may be replaced.

        Raises:
            SaveFailed: the disk is full; what was there before is unchanged.
            ValueError: a file lacks a column, or, without `gather`, a series is in two files; the message names them.

        """
        place = check_place(out, replace=replace)
        try:
            with scratch_folder(place) as scratch, system_errors():
                shards = shards_of(source, self.reading, scratch, whole=not gather)
                parts = list(self._parts(shards, scratch, gather))
                return self._joined(parts, place, replace)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            text = f"could not write {place}: {os.strerror(error.errno)}. It is unchanged."
            raise SaveFailed(error.errno, text) from error

    def _parts(self, shards: Sequence[Shard], scratch: Path, gather: bool) -> Iterator[StoredSet]:
        """Yield the series of each piece as sets that were written to the scratch folder."""
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
        """Read one piece with those static features and categories that it has."""
        names = set(table.frame.columns)
        if self.channel in names:
            names |= {str(name).strip() for name in table.frame[self.channel].cast(str).unique().drop_nulls()}
        static = [name for name in self.static if name in names] if is_names(self.static) else []
        categorical = [name for name in self.categorical if name in names]
        return self.read(table, static=static, categorical=categorical, usual=usual, strict=self.strict)

    def _joined(self, parts: Sequence[StoredSet], place: Path, replace_old: bool) -> StoredSet:
        """Write the parts as one set with the series in the order of their ids."""
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
        """Return the channels of all parts, in the order of their names or of the columns."""
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
    """Yield the series of all parts in another order, in blocks."""
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
    """Return a part whose times have no origins with times that count from the first sample of each series."""
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
    """Merge notes with the same text; of notes on columns, only one is kept."""
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


def stored_already(frame: Any, arguments: Mapping[str, Any]) -> SeriesSet | None:
    """Return a set that was read before or is opened from its folder; None if it is a table.

    Args:
        frame: the table or set.
        arguments: arguments for reading tables, none of which may be given for a set.

    Raises:
        ValueError: one of them is given for a set.

    """
    if not isinstance(frame, SeriesSet) and not is_stored(frame):
        return None
    for name, value in arguments.items():
        if value is not None and not (isinstance(value, tuple | list) and len(value) == 0) and name != "usual":
            raise ValueError(f"`{name}` is for tables, not for a stored set. Leave it out, or pack the set again.")
    return frame if isinstance(frame, SeriesSet) else open_set(frame)


def refuse_ids(ids: Any) -> None:
    """Refuse `ids`, as all series are written."""
    if ids is not None:
        raise ValueError("`ids` is for sets in memory; with `out`, all series are written. Select series afterwards.")
