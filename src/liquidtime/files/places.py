"""Checks of where output may be written: not into a folder whose files are sealed, and not over its own input."""

from __future__ import annotations

import fnmatch
import glob
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.sealed import MANIFEST, SealedFolder
from liquidtime.files.temporaries import temporary_of


def sealed_around(path: Path) -> Path | None:
    """Return the folder with a manifest of ours that is or contains `path`, following links; None if there is none."""
    parent = path.resolve()
    for folder in (parent, *parent.parents):
        if (folder / MANIFEST).is_file():
            try:
                SealedFolder(folder)
            except (OSError, DamagedFolder):
                continue
            return folder
    return None


def refuse_sealed(path: Path, argument: str = "", *, files: bool = False) -> None:
    """Refuse a path inside a model folder, a stored set or the like, which must not be changed.

    Args:
        path: path of the output.
        argument: name of the path in messages.
        files: whether files are to be written into a folder of this name, which may already exist.

    Raises:
        ValueError: the path is inside such a folder, which the message names.

    """
    folder = sealed_around(path if files else path.absolute().parent)
    if folder is not None:
        raise ValueError(
            f"{f'{argument} {path}'.lstrip()} must not be in {folder}, whose files are sealed by checksums; "
            "choose another folder"
        )


def refuse_unwritable(path: Path, argument: str = "`out`") -> None:
    """Refuse a file or folder that cannot be created or replaced, by creating an empty file beside it for a moment.

    Args:
        path: what is to be written; its parent folder exists.
        argument: what messages call it.

    Raises:
        OSError: the system refuses, such as `PermissionError` or that of a file system that can only be read.

    """
    beside = temporary_of(path.absolute().with_name(".try"))  # not the name of what is being written
    try:
        beside.touch(mode=0o600)
        beside.unlink()
    except OSError as error:
        raise OSError(error.errno, f"{argument} {path} cannot be written: {error.strerror}") from error


def check_file(
    out: Path,
    *,
    replace: bool,
    endings: Iterable[str] = (),
    inputs: Iterable[str | os.PathLike[str] | None] = (),
    argument: str = "`out`",
) -> None:
    """Refuse, before any work, a file that cannot or must not be written.

    Args:
        out: the file.
        replace: whether a file of that name may be replaced; never one of the inputs.
        endings: allowed suffixes of its name, in lower case.
        inputs: files, folders and patterns that are read; None is ignored.
        argument: name of the file in messages.

    Raises:
        FileNotFoundError: the folder around it does not exist.
        FileExistsError: the file exists and `replace` is False, or it is not a plain file.
        OSError: the system does not allow writing there.
        ValueError: another suffix, a path among sealed files, or one of the inputs.

    """
    if endings and out.suffix.lower() not in endings:
        raise ValueError(f"{argument} must end in {' or '.join(endings)}; got {out.name!r}")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"{argument} {out} must be in a folder that exists; there is no {out.absolute().parent}"
        )
    refuse_sealed(out, argument)
    for source in inputs:
        if source is not None:
            _refuse_input(out, source, argument)
    if out.is_dir():
        raise IsADirectoryError(f"{argument} {out} is a folder; choose a file name")
    if out.exists() and not stat.S_ISREG(out.stat().st_mode):
        raise FileExistsError(f"{argument} {out} is a device or a pipe; choose a file name")
    if not replace and (out.exists() or out.is_symlink()):
        raise FileExistsError(f"{argument} {out} exists; add replace=True to replace it, or choose another name")
    refuse_unwritable(out, argument)


def _refuse_input(out: Path, source: str | os.PathLike[str], argument: str) -> None:
    """Refuse a file that is an input, or would be one the next time the command runs."""
    place = Path(os.path.normpath(out.absolute().parent.resolve() / out.name))
    try:
        path = Path(source)
        if path.is_dir():
            taken = path.resolve() in place.parents or any(
                _same(out, item) for item in path.iterdir() if item.is_file()
            )
        elif not path.exists() and glob.has_magic(str(path)):
            pattern = os.path.join(path.absolute().parent.resolve(), path.name)
            taken = fnmatch.fnmatch(str(place), pattern)
            taken = taken or any(_same(out, Path(item)) for item in glob.iglob(str(path), recursive=True))
        else:
            taken = _same(out, path)
    except (OSError, ValueError):  # a URL, or an impossible file name
        return
    if taken:
        raise ValueError(f"{argument} {out} is one of the input files, or is among them; choose another name")


def _same(out: Path, other: Path) -> bool:
    return out.exists() and other.exists() and out.samefile(other)
