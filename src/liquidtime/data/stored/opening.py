"""Open stored sets: sizes are bounded before anything is read, and sets that have changed are refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Note, SeriesSet
from liquidtime.data.stored.array_files import ArrayFile
from liquidtime.data.stored.stored_set import Source, StoredSet
from liquidtime.files.bounded import DamagedFolder, json_from_bytes
from liquidtime.files.sealed import MANIFEST, SealedFolder

FACTS, FORMAT = "set.json", 1
_LARGEST_FACTS, _MOST_FACTS, _MOST_CHANNELS = 1 << 24, 1_000_000, 100_000
_FIELDS = {
    "format", "series", "samples", "channels", "static_names", "time_unit", "categories", "origins", "ids", "notes",
    "reading", "columns",
}  # fmt: skip


def is_stored(path: Any) -> bool:
    """Return whether an object is the path of a folder that claims to be a stored set."""
    if not isinstance(path, str | os.PathLike):
        return False
    folder = Path(path)
    try:
        return (folder / MANIFEST).is_file() and (folder / FACTS).is_file()
    except (OSError, ValueError):
        return False


def open_set(folder: str | os.PathLike[str], *, verify: bool = True) -> StoredSet:
    """Open a set that `SeriesSet.write`, `from_long(..., out=...)` or `liquidtime pack` wrote; samples stay on disk.

    Args:
        folder: the folder.
        verify: compare every file with its checksum and check every sample, which reads the whole folder. Without it, a
            folder that you trust opens at once; sizes, types and positions are still checked.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: it is not a stored set, or has changed since it was written; the message says how.

    """
    path = Path(folder).absolute()
    sealed = SealedFolder(path)
    facts = _facts(sealed)
    S, N, C, F = facts["series"], facts["samples"], len(facts["channels"]), len(facts["static_names"])
    wanted = {
        "offsets": ("<i8", (S + 1,)), "times": ("<f8", (N,)), "values": ("<f4", (N, C)),
        "ids": ("U" if facts["ids"] == "texts" else "<i8", (S,)), "static": ("<f4", (S, F)),
    }  # fmt: skip
    if facts["origins"] is not None:
        wanted["origins"] = ("<i8", (S,))
    surplus = set(sealed.entries) - {FACTS, *(f"{name}.npy" for name in wanted)}
    if surplus:
        raise DamagedFolder(f"{path / MANIFEST} lists {min(surplus)!r}, which does not belong in a stored set")
    files = {name: ArrayFile(sealed, f"{name}.npy", *kind) for name, kind in wanted.items()}
    if verify:
        sealed.check(sealed.entries)
    offsets: npt.NDArray[np.int64] = files["offsets"].read(0, S + 1)
    if offsets[0] != 0 or offsets[-1] != N or (np.diff(offsets) < 0).any():
        raise DamagedFolder(f"{path / 'offsets.npy'} must go from 0 to {N:,} without decreasing")
    origins = files["origins"].read(0, S) if "origins" in files else None
    stored = StoredSet.of(
        Source(path, offsets, files["times"], files["values"], facts["columns"]),
        ids=files["ids"].read(0, S),
        static=files["static"].read(0, S),
        origins=origins.view("datetime64[ns]") if origins is not None and facts["origins"] == "stamps" else origins,
        **{name: facts[name] for name in ("channels", "static_names", "time_unit", "categories", "notes", "reading")},
    )
    try:
        _check(stored, verify)
    except ValueError as error:
        raise DamagedFolder(f"{path} is not a set of series: {error}") from error
    return stored


def _check(stored: StoredSet, verify: bool) -> None:
    """Refuse what `SeriesSet` refuses; with `verify`, check the samples of all series block by block."""
    if len(np.unique(stored.ids)) != len(stored):
        raise ValueError("`ids` must be distinct; two series have the same id")
    SeriesSet(**stored[:0].__dict__)
    if verify:
        for _, part in stored.blocks():
            SeriesSet(**part.__dict__)


def _facts(sealed: SealedFolder) -> dict[str, Any]:
    """Return the checked contents of the JSON file of a folder."""
    where = str(sealed.path / FACTS)
    if FACTS not in sealed.entries:
        raise DamagedFolder(f"{sealed.path} is not a stored set: its manifest lists no {FACTS}")
    facts = json_from_bytes(sealed.read(FACTS, _LARGEST_FACTS), where, _MOST_FACTS)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        told = facts.get("format") if isinstance(facts, dict) else facts
        raise DamagedFolder(f"{where} must be of format {FORMAT}; got {str(told)[:80]!r}. Update the package.")
    if set(facts) != _FIELDS:
        raise DamagedFolder(f"{where} must have {', '.join(sorted(_FIELDS))} and nothing else")
    try:
        return _plain(facts)
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedFolder(f"{where} does not describe a set of series: {error}") from error


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts with the types of `SeriesSet`; refuse invalid ones."""
    for name in ("series", "samples"):
        if type(facts[name]) is not int or not 0 <= facts[name] < 1 << 48:
            raise ValueError(f"`{name}` must be a whole number of at least 0")
    channels, static_names = _texts("channels", facts["channels"]), _texts("static_names", facts["static_names"])
    categories = {name: _texts("categories", labels) for name, labels in facts["categories"].items()}
    reading = facts["reading"]
    if not isinstance(reading, dict) or not all(isinstance(text, str) for text in reading.values()):
        raise ValueError("`reading` must be texts by name")
    if facts["columns"] is not None and not isinstance(facts["columns"], dict):
        raise ValueError("`columns` must be an object")
    for name, known in (("origins", (None, "stamps", "whole")), ("ids", ("texts", "whole"))):
        if facts[name] not in known:
            raise ValueError(f"`{name}` must be one of {known}")
    if facts["time_unit"] is not None and not isinstance(facts["time_unit"], str):
        raise ValueError("`time_unit` must be a text")
    notes = tuple(_note(*note) for note in facts["notes"])
    return dict(facts) | {
        "channels": channels, "static_names": static_names, "categories": categories, "notes": notes,
    }  # fmt: skip


def _note(kind: Any, what: Any, count: Any, of: Any, first: Any) -> Note:
    if kind not in ("repaired", "dropped", "kept") or not isinstance(what, str):
        raise ValueError("`notes` must each have a known kind and a text")
    if type(count) is not int or type(of) is not int:
        raise ValueError("`notes` must have whole numbers")
    return Note(kind, what, count, of, _texts("notes", first))


def _texts(name: str, items: Any) -> tuple[str, ...]:
    if not isinstance(items, list) or len(items) > _MOST_CHANNELS or not all(isinstance(item, str) for item in items):
        raise ValueError(f"`{name}` must be a list of texts")
    return tuple(items)
