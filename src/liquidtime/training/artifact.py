"""Folders of files that are there whole or not at all, and whose every bit is checked when they are read.

A folder is written under a temporary name beside its own, synced with its files, and renamed; the one before it stays
as ``<name>.previous``. ``manifest.json`` holds the size and sha256 of every file. Nothing is ever unpickled, and
reading takes plain files directly inside the folder only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors_torch
from torch import Tensor

MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 1 << 20


class DamagedFolder(ValueError):
    """A saved folder is missing a part, or a part is not what was written."""


class SaveFailed(OSError):
    """A folder or file could not be written; what was there before is untouched."""


class FallbackWarning(UserWarning):
    """The newest saved folder could not be used, and the one before it was."""


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write files as one folder, whole or not at all; the good one before stays as ``<name>.previous``.

    Args:
        path: the folder; its parent must exist.
        files: contents by plain file name.

    Raises:
        FileExistsError: `path`, or its previous generation, holds files that are not of such a folder.
        SaveFailed: the disk is full or refuses; the last good folder stays.

    """
    for name in files:
        _check_name(name)
    previous, temporary = previous_of(path), path.with_name(f".{path.name}.{os.getpid()}.tmp")
    known = {*files, MANIFEST}
    for folder in (path, previous):
        _refuse_foreign(folder, known)
    manifest = _manifest_bytes(files)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        for name, data in (*files.items(), (MANIFEST, manifest)):
            _write_synced(temporary / name, data)
        _sync_folder(temporary)
        if path.exists():
            if problem_of(path) is None:
                _remove(previous)
                path.rename(previous)
            else:
                _remove(path)
        temporary.rename(path)
        _sync_folder(path.parent)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        kept = next((folder for folder in (path, previous) if problem_of(folder) is None), None)
        stays = f"The last good one stays: {kept}" if kept else "Nothing was saved there before."
        raise SaveFailed(error.errno, f"could not write {path}: {error.strerror or error}. {stays}") from error


def read_folder(path: Path) -> dict[str, bytes]:
    """Return the contents of a folder by file name, every one checked against the manifest.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file is missing, shorter or longer, of another sha256, or not a plain file.

    """
    if not path.is_dir():
        raise FileNotFoundError(f"there is no folder {path}")
    raw = _read_plain(path / MANIFEST, None)
    try:
        parsed: Any = json.loads(raw)
        entries = {str(name): (int(entry["bytes"]), str(entry["sha256"])) for name, entry in parsed["files"].items()}
        canonical = _manifest_text(entries).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFolder(f"{path / MANIFEST} is not a manifest: {error}") from error
    if canonical != raw:
        raise DamagedFolder(f"{path / MANIFEST} is not as it was written")
    files: dict[str, bytes] = {}
    for name, (size, digest) in entries.items():
        _check_name(name)
        data = _read_plain(path / name, size)
        if hashlib.sha256(data).hexdigest() != digest:
            raise DamagedFolder(f"{path / name} has another sha256 than {MANIFEST} says: a bit has changed")
        files[name] = data
    return files


def read_newest(path: Path) -> tuple[Path, dict[str, bytes]]:
    """Return the newest good generation of a folder: itself, or with a warning the one before.

    Raises:
        FileNotFoundError: neither generation exists.
        DamagedFolder: what exists is damaged; the text names the fault of each.

    """
    problem = problem_of(path)
    if problem is None:
        return path, read_folder(path)
    previous = previous_of(path)
    if not path.exists() and not previous.exists():
        raise FileNotFoundError(f"there is no folder {path}, nor {previous.name} beside it")
    second = problem_of(previous)
    if second is not None:
        raise DamagedFolder(f"no good copy is left: {problem}; {second}")
    warnings.warn(f"{problem}. Taken instead: {previous}, the one saved before.", FallbackWarning, stacklevel=3)
    return previous, read_folder(previous)


def problem_of(path: Path) -> str | None:
    """Return what is wrong with a folder, or None where it is whole."""
    try:
        read_folder(path)
    except (OSError, DamagedFolder) as error:
        return str(error)
    return None


def previous_of(path: Path) -> Path:
    """Return where the generation before `path` is kept."""
    return path.with_name(f"{path.name}.previous")


def write_file(path: Path, data: bytes) -> None:
    """Write one file whole or not at all.

    Raises:
        SaveFailed: the disk is full or refuses; the file stays as it was.

    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        _write_synced(temporary, data)
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise SaveFailed(error.errno, f"could not write {path}: {error.strerror or error}. It is as before.") from error


def remove_leftovers(path: Path) -> None:
    """Remove the temporary folders that a killed process left beside `path`; for the holder of a lock only."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)


def tensors_to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Return tensors as a safetensors file; each is copied, so tied and strided ones are welcome."""
    plain = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
    return safetensors_torch.save(plain)


def tensors_from_bytes(data: bytes) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file.

    Raises:
        DamagedFolder: it is not one.

    """
    try:
        return safetensors_torch.load(data)
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise DamagedFolder(f"not a safetensors file: {error}") from error


def json_to_bytes(values: Any, *, indent: int | None = None) -> bytes:
    """Return values as JSON with sorted keys, one value a line where there is an indent."""
    return (json.dumps(values, indent=indent, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _manifest_bytes(files: Mapping[str, bytes]) -> bytes:
    entries = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
    return _manifest_text(entries).encode()


def _manifest_text(entries: Mapping[str, tuple[int, str]]) -> str:
    listed = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in entries.items()}
    return json.dumps({"files": listed}, indent=1, sort_keys=True) + "\n"


def _check_name(name: str) -> None:
    if not name or name != os.path.basename(name) or name in (".", "..", MANIFEST) or "\0" in name or "\\" in name:
        raise DamagedFolder(f"{name!r} is not the plain name of a file inside the folder")


def _read_plain(path: Path, size: int | None) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DamagedFolder(f"{path} cannot be read: {error.strerror}") from error
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise DamagedFolder(f"{path} is not a plain file")
        if size is None and found.st_size > _LARGEST_MANIFEST:
            raise DamagedFolder(f"{path} has {found.st_size} bytes, too many for a manifest")
        if size is not None and found.st_size != size:
            raise DamagedFolder(f"{path} has {found.st_size} bytes, not the {size} that {MANIFEST} says")
        return file.read()


def _write_synced(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_foreign(folder: Path, known: set[str]) -> None:
    """A folder that is about to be replaced must hold nothing but what such folders hold."""
    if not folder.exists():
        return
    if not folder.is_dir() or folder.is_symlink():
        raise FileExistsError(f"{folder} exists and is not a folder; choose another name")
    present = {entry.name for entry in folder.iterdir()}
    try:
        listed = set(json.loads((folder / MANIFEST).read_bytes())["files"])
    except (OSError, ValueError, KeyError, TypeError):
        listed = set()
    foreign = sorted(present - known - listed)
    if foreign:
        raise FileExistsError(
            f"{folder} holds files that would be lost, e.g. {foreign[0]!r} ({len(foreign)} in all); choose another name"
        )


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
