"""Folders that are written completely or not at all, and checked by SHA-256 when they are read.

A folder is written under a temporary name, synced to disk with its files, and renamed; the previous version is kept
as ``<name>.previous``. ``manifest.json`` has the size and SHA-256 of every file. Nothing is ever unpickled, and only
plain files directly inside the folder are read.
"""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.places import refuse_sealed
from liquidtime.files.sealed import MANIFEST, SealedFolder, check_name, manifest_text, problem_of
from liquidtime.files.temporaries import remove_dead, remove_folder, temporary_of
from liquidtime.files.whole_files import SaveFailed, sync_folder, write_synced


class FallbackWarning(UserWarning):
    """The newest version of a folder could not be used; the previous version was used instead."""


def write_folder(path: Path, files: Mapping[str, bytes], *, owned: bool = False) -> None:
    """Write files as one folder, completely or not at all; the previous version is kept as ``<name>.previous``.

    Args:
        path: the folder; its parent must exist.
        files: contents by plain file name.
        owned: the parent folder belongs to the run, so a damaged folder with this name may be removed.

    Raises:
        FileExistsError: `path`, or the previous version, is something else or was changed since it was written.
        SaveFailed: the disk is full or cannot be written; the last good folder is kept.

    """
    for name in files:
        check_name(name)
    previous, temporary, doomed = previous_of(path), temporary_of(path), temporary_of(previous_of(path))
    known = (*files, MANIFEST)
    if not owned:
        refuse_foreign(path, files)
    for folder in (path, previous):
        remove_dead(folder, known)
    manifest = _manifest_bytes(files)
    renamed: list[tuple[Path, Path]] = []

    def rename(one: Path, other: Path) -> None:
        one.rename(other)
        renamed.append((one, other))

    try:
        remove_folder(temporary, known)
        remove_folder(doomed, known)
        temporary.mkdir()
        for name, data in (*files.items(), (MANIFEST, manifest)):
            write_synced(temporary / name, data)
        sync_folder(temporary)
        if path.exists():
            good = problem_of(path) is None
            if (previous if good else path).exists():
                rename(previous if good else path, doomed)  # an interrupted removal leaves no incomplete folder
            if good:
                rename(path, previous)
        rename(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            for one, other in reversed(renamed):
                other.rename(one)
        remove_folder(temporary, known)
        kept = next((folder for folder in (path, previous) if problem_of(folder) is None), None)
        rest = f"The last good one is kept: {kept}" if kept else "Nothing had been saved there before."
        raise SaveFailed(error.errno, f"could not write {path}: {error.strerror or error}. {rest}") from error
    with contextlib.suppress(OSError):
        remove_folder(doomed, (*_listed(doomed), *known))


def refuse_foreign(path: Path, names: Iterable[str] = ()) -> None:
    """Refuse to replace a folder that `write_folder` did not write, that is of another kind, or that was changed since.

    Args:
        path: the folder to be written; it and its previous version must be absent, empty, or unchanged.
        names: names of files to be written; a folder of the same kind has at least one of them; empty for any kind.

    Raises:
        FileExistsError: one of them is something else; the message says what would be lost.
        ValueError: the folder is inside another one whose files are sealed.

    """
    refuse_sealed(path)
    wanted = set(names)
    for folder in (path, previous_of(path)):
        if not (folder.exists() or folder.is_symlink()):
            continue
        if folder.is_symlink() or not folder.is_dir():
            raise FileExistsError(f"{folder} exists and is not a folder; choose another name")
        present = {entry.name for entry in folder.iterdir()}
        if not present:
            continue
        listed = _listed(folder)
        foreign = sorted(present - {*listed, MANIFEST})
        if foreign:
            raise FileExistsError(
                f"{folder} contains files that would be lost, such as {foreign[0]!r} ({len(foreign)} in all); "
                "choose another name"
            )
        if wanted and listed and wanted.isdisjoint(listed):
            raise FileExistsError(
                f"{folder} contains something else that would be lost, with files such as {min(listed)!r}; "
                "choose another name"
            )
        problem = problem_of(folder)
        if problem is not None:
            raise FileExistsError(f"{folder} differs from what was saved and would be lost: {problem}. Move it away.")


def read_folder(path: Path) -> dict[str, bytes]:
    """Return the contents of a trusted folder by file name, each compared with the manifest.

    For an untrusted folder, which may be far too large, use `SealedFolder`.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file is missing, has another size or SHA-256, or is not a plain file.

    """
    sealed = SealedFolder(path)
    return {name: sealed.read(name) for name in sealed.entries}


def read_newest(path: Path, largest: Mapping[str, int]) -> tuple[Path, dict[str, bytes]]:
    """Return the newest undamaged version of a folder: the folder itself, or, with a warning, the previous version.

    Args:
        path: the folder.
        largest: the names of its files, which must be exactly these, and the largest size of each in bytes.

    Raises:
        FileNotFoundError: neither version exists.
        DamagedFolder: every version that exists is damaged; the message says how.

    """
    previous = previous_of(path)
    if not path.exists() and not previous.exists():
        raise FileNotFoundError(f"there is no folder {path}, nor {previous.name} next to it")
    try:
        return path, _read_exactly(path, largest)
    except (OSError, DamagedFolder) as error:
        problem = str(error)
    try:
        files = _read_exactly(previous, largest)
    except (OSError, DamagedFolder) as error:
        raise DamagedFolder(f"no undamaged copy is left: {problem}; {error}") from error
    warnings.warn(f"{problem}. Using {previous} instead, which was saved before it.", FallbackWarning, stacklevel=3)
    return previous, files


def _read_exactly(path: Path, largest: Mapping[str, int]) -> dict[str, bytes]:
    sealed = SealedFolder(path)
    surplus = sorted(set(sealed.entries) - set(largest))
    if surplus:
        raise DamagedFolder(f"{path / MANIFEST} lists {surplus[0]!r}, which does not belong in such a folder")
    for name, most in largest.items():
        sealed.size(name, most)
    return {name: sealed.read(name, most) for name, most in largest.items()}


def previous_of(path: Path) -> Path:
    """Return the path at which the previous version of `path` is kept."""
    return path.with_name(f"{path.name}.previous")


def _manifest_bytes(files: Mapping[str, bytes]) -> bytes:
    entries = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
    return manifest_text(entries).encode()


def _listed(folder: Path) -> list[str]:
    """Return the names in the manifest of a folder, or none if it is damaged."""
    try:
        return list(SealedFolder(folder).entries)
    except (FileNotFoundError, DamagedFolder):
        return []
