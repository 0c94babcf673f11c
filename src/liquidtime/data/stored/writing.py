"""Write stored sets in blocks of series, under a temporary name; then sync and rename them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Note, SeriesSet
from liquidtime.data.stored.array_files import ArrayWriter
from liquidtime.data.stored.opening import FACTS, FORMAT, is_stored, open_set
from liquidtime.data.stored.stored_set import StoredSet
from liquidtime.files.contents import json_to_bytes
from liquidtime.files.exchange import exchange
from liquidtime.files.places import refuse_sealed, refuse_unwritable
from liquidtime.files.sealed import MANIFEST, SealedFolder, manifest_text
from liquidtime.files.temporaries import remove_dead, temporary_of
from liquidtime.files.whole_files import SaveFailed, sync_folder

_NAMES = (*(f"{name}.npy" for name in ("offsets", "times", "values", "ids", "static", "origins")), FACTS, MANIFEST)


@dataclass(frozen=True)
class SetFacts:
    """The facts of a set besides its samples, which must be known before samples are written.

    Args:
        ids: (S,) whole numbers or texts.
        lengths: (S,) number of samples of each series.
        static: (S, F) static features.
        channels: C names.
        static_names: F names.
        time_unit: unit of the times.
        categories: categories of categorical channels and static features.
        origins: (S,) absolute time of time 0, or None.
        notes: notes from reading.
        reading: formats of the table.
        columns: meaning of the columns of the table, by argument of `from_long` or `from_wide`.
    """

    ids: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]
    static: npt.NDArray[np.float32]
    channels: tuple[str, ...]
    static_names: tuple[str, ...] = ()
    time_unit: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    origins: npt.NDArray[Any] | None = None
    notes: tuple[Note, ...] = ()
    reading: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Any] | None = None

    @staticmethod
    def of(data: SeriesSet) -> SetFacts:
        """Return the facts of a set."""
        return SetFacts(
            data.ids, data.lengths, data.static, data.channels, data.static_names, data.time_unit, data.categories,
            data.origins, data.notes, data.reading,
        )  # fmt: skip

    def to_bytes(self) -> bytes:
        """Return the contents of the JSON file of the folder."""
        return json_to_bytes(
            {
                "format": FORMAT,
                "series": len(self.ids),
                "samples": int(self.lengths.sum()),
                "channels": list(self.channels),
                "static_names": list(self.static_names),
                "time_unit": self.time_unit,
                "categories": {name: list(labels) for name, labels in self.categories.items()},
                "origins": None if self.origins is None else "stamps" if self.origins.dtype.kind == "M" else "whole",
                "ids": "texts" if self.ids.dtype.kind == "U" else "whole",
                "notes": [[note.kind, note.what, note.count, note.of, list(note.first)] for note in self.notes],
                "reading": dict(self.reading),
                "columns": None if self.columns is None else dict(self.columns),
            },
            indent=1,
        )


def write_set(data: SeriesSet, folder: str | os.PathLike[str], *, replace: bool = False) -> StoredSet:
    """Write a set as a folder; see `SeriesSet.write`."""
    return write_blocks(SetFacts.of(data), (part for _, part in data.blocks()), folder, replace=replace)


def write_blocks(
    facts: SetFacts, blocks: Iterable[SeriesSet], folder: str | os.PathLike[str], *, replace: bool = False
) -> StoredSet:
    """Write blocks of series as one folder, completely or not at all, and open it.

    Args:
        facts: facts of all series, in order.
        blocks: the series in the same order, in blocks with the channels of `facts`; they have been checked.
        folder: the folder to write.
        replace: whether an existing stored set may be replaced.

    Raises:
        FileExistsError: the folder exists and must not be replaced.
        SaveFailed: the disk is full or cannot be written; what was there before is unchanged.

    """
    path = check_place(folder, replace=replace)
    temporary = temporary_of(path)
    try:
        remove_dead(path, _NAMES)
        _discard(temporary)
        temporary.mkdir()
        entries = dict(_written(temporary, facts, blocks))
        (temporary / MANIFEST).write_text(manifest_text(entries))
        for name in (FACTS, MANIFEST):
            with open(temporary / name, "rb") as file:
                os.fsync(file.fileno())
        sync_folder(temporary)
        _put(temporary, check_place(path, replace=replace))
        sync_folder(path.parent)
    except OSError as error:
        raise SaveFailed(error.errno, f"could not write {path}: {error.strerror or error}. It is unchanged.") from error
    finally:
        _discard(temporary)
    return open_set(path, verify=False)


def _put(temporary: Path, path: Path) -> None:
    """Give a folder its name; one that had the name gets the temporary one, at once where the system can do so."""
    if not path.exists():
        temporary.rename(path)
    elif not exchange(temporary, path):
        old = path.with_name(f".{path.name}.{os.getpid()}.old.tmp")
        path.rename(old)
        try:
            temporary.rename(path)
        except OSError:
            old.rename(path)
            raise
        old.rename(temporary)


def check_place(folder: str | os.PathLike[str], *, replace: bool = False) -> Path:
    """Return the folder that a set is to be written to; refuse an impossible one before any work.

    Raises:
        FileNotFoundError: the parent folder does not exist.
        FileExistsError: it exists and is not a stored set, or must not be replaced.
        OSError: the system does not let anything be written there.

    """
    path = Path(folder).absolute()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"`out` must be in a folder that exists; there is no {path.parent}")
    refuse_sealed(path)
    refuse_unwritable(path)
    if not (path.exists() or path.is_symlink()):
        return path
    if path.is_symlink() or not path.is_dir() or not is_stored(path):
        raise FileExistsError(f"{path} exists and is not a stored set; choose another name")
    if not replace:
        raise FileExistsError(f"{path} exists; write it with replace=True, or choose another name")
    foreign = sorted({item.name for item in path.iterdir()} - {*SealedFolder(path).entries, MANIFEST})
    if foreign:
        raise FileExistsError(f"{path} holds files that would be lost, e.g. {foreign[0]!r}; choose another name")
    return path


def _written(folder: Path, facts: SetFacts, blocks: Iterable[SeriesSet]) -> Iterator[tuple[str, tuple[int, str]]]:
    """Write all files except the manifest; yield the name of each with its size and SHA-256."""
    N, C = int(facts.lengths.sum()), len(facts.channels)
    with contextlib.ExitStack() as stack:

        def writer(name: str, dtype: Any, shape: tuple[int, ...]) -> ArrayWriter:
            one = ArrayWriter(folder / f"{name}.npy", dtype, shape)
            stack.callback(one.abandon)
            return one

        times, values = writer("times", "<f8", (N,)), writer("values", "<f4", (N, C))
        for part in blocks:
            times.add(part.times)
            values.add(part.values)
        yield "times.npy", times.close()
        yield "values.npy", values.close()
        offsets = np.concatenate([[0], np.cumsum(facts.lengths)])
        arrays: dict[str, tuple[npt.NDArray[Any], str]] = {
            "offsets": (offsets, "<i8"),
            "ids": stored_ids(facts.ids),
            "static": (facts.static, "<f4"),
        }
        if facts.origins is not None:
            arrays["origins"] = (np.ascontiguousarray(facts.origins).view(np.int64), "<i8")
        for name, (array, dtype) in arrays.items():
            one = writer(name, dtype, array.shape)
            one.add(array)
            yield f"{name}.npy", one.close()
    raw = facts.to_bytes()
    (folder / FACTS).write_bytes(raw)
    yield FACTS, (len(raw), hashlib.sha256(raw).hexdigest())


def stored_ids(ids: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], str]:
    """Return ids in the form in which they are stored, and their type: 64-bit whole numbers or texts.

    Raises:
        TypeError: they are neither whole numbers nor texts.

    """
    if ids.dtype.kind == "O":
        ids = ids.astype(np.str_)
    if ids.dtype.kind == "U":
        texts = ids if ids.dtype.itemsize else ids.astype("<U1")
        return texts, texts.dtype.newbyteorder("<").str
    if ids.dtype.kind in "iu" and (ids.dtype.kind == "i" or not len(ids) or int(ids.max()) <= np.iinfo(np.int64).max):
        return ids, "<i8"
    raise TypeError(f"`ids` must be whole numbers or texts so that they can be stored; got {ids.dtype}")


def _discard(folder: Path) -> None:
    """Remove a folder that this process wrote."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
