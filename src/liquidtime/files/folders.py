"""Folders of files that are there whole or not at all, and whose every bit is checked when they are read.

A folder is written under a temporary name beside its own, synced with its files, and renamed; the one before it stays
as ``<name>.previous``. ``manifest.json`` holds the size and sha256 of every file. Nothing is ever unpickled, and
reading takes plain files directly inside the folder only.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from pathlib import Path

from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.sealed import MANIFEST, SealedFolder, check_name, manifest_text, problem_of
from liquidtime.files.temporaries import remove_dead, remove_folder, temporary_of
from liquidtime.files.whole_files import SaveFailed, sync_folder, write_synced


class FallbackWarning(UserWarning):
    """The newest saved folder could not be used, and the one before it was."""


def write_folder(path: Path, files: Mapping[str, bytes], *, owned: bool = False) -> None:
    """Write files as one folder, whole or not at all; the good one before stays as ``<name>.previous``.

    Args:
        path: the folder; its parent must exist.
        files: contents by plain file name.
        owned: the parent folder is the run's own, so a damaged folder of this name may be removed.

    Raises:
        FileExistsError: `path`, or its previous generation, is not such a folder, or was changed since it was written.
        SaveFailed: the disk is full or refuses; the last good folder stays.

    """
    for name in files:
        check_name(name)
    previous, temporary, doomed = previous_of(path), temporary_of(path), temporary_of(previous_of(path))
    known = (*files, MANIFEST)
    if not owned:
        refuse_foreign(path)
    for folder in (path, previous):
        remove_dead(folder, known)
    manifest = _manifest_bytes(files)
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
                (previous if good else path).rename(doomed)  # a removal that is cut short leaves no half folder
            if good:
                path.rename(previous)
        temporary.rename(path)
        sync_folder(path.parent)
        remove_folder(doomed, (*_listed(doomed), *known))
    except OSError as error:
        remove_folder(temporary, known)
        if doomed.exists() and not previous.exists():
            doomed.rename(previous)
        kept = next((folder for folder in (path, previous) if problem_of(folder) is None), None)
        stays = f"The last good one stays: {kept}" if kept else "Nothing was saved there before."
        raise SaveFailed(error.errno, f"could not write {path}: {error.strerror or error}. {stays}") from error


def refuse_foreign(path: Path) -> None:
    """Refuse to replace what `write_folder` did not write, or what was changed or added to since.

    Args:
        path: the folder to be written; it and its previous generation must be absent, empty, or as they were written.

    Raises:
        FileExistsError: one of them is not; the text says what is in the way.

    """
    for folder in (path, previous_of(path)):
        if not (folder.exists() or folder.is_symlink()):
            continue
        if folder.is_symlink() or not folder.is_dir():
            raise FileExistsError(f"{folder} exists and is not a folder; choose another name")
        present = {entry.name for entry in folder.iterdir()}
        if not present:
            continue
        foreign = sorted(present - {*_listed(folder), MANIFEST})
        if foreign:
            raise FileExistsError(
                f"{folder} holds files that would be lost, e.g. {foreign[0]!r} ({len(foreign)} in all); "
                "choose another name"
            )
        problem = problem_of(folder)
        if problem is not None:
            raise FileExistsError(f"{folder} differs from what was saved and would be lost: {problem}. Move it away.")


def read_folder(path: Path) -> dict[str, bytes]:
    """Return the contents of a folder of one's own by file name, every one compared with the manifest.

    For a stranger's folder, which may be large beyond reason, see `SealedFolder`.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file is missing, shorter or longer, of another sha256, or not a plain file.

    """
    sealed = SealedFolder(path)
    return {name: sealed.read(name) for name in sealed.entries}


def read_newest(path: Path, largest: Mapping[str, int]) -> tuple[Path, dict[str, bytes]]:
    """Return the newest good generation of a folder: itself, or with a warning the one before.

    Args:
        path: the folder.
        largest: the files that it must have, and no other, with the most bytes of each.

    Raises:
        FileNotFoundError: neither generation exists.
        DamagedFolder: what exists is damaged; the text names the fault of each.

    """
    previous = previous_of(path)
    if not path.exists() and not previous.exists():
        raise FileNotFoundError(f"there is no folder {path}, nor {previous.name} beside it")
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
        raise DamagedFolder(f"{path / MANIFEST} lists {surplus[0]!r}, which is not of such a folder")
    for name, most in largest.items():
        sealed.size(name, most)
    return {name: sealed.read(name, most) for name, most in largest.items()}


def previous_of(path: Path) -> Path:
    """Return where the generation before `path` is kept."""
    return path.with_name(f"{path.name}.previous")


def _manifest_bytes(files: Mapping[str, bytes]) -> bytes:
    entries = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
    return manifest_text(entries).encode()


def _listed(folder: Path) -> list[str]:
    """Return the names in a folder's manifest, none where that is not whole."""
    try:
        return list(SealedFolder(folder).entries)
    except (FileNotFoundError, DamagedFolder):
        return []
