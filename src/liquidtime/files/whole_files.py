"""Files that are written completely or not at all: under a temporary name, synced, and renamed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from liquidtime.files.temporaries import remove_dead, temporary_of

_SYSTEM = re.compile(r"\(os error (\d+)\)")


class SaveFailed(OSError):
    """A folder or file could not be written; the previous version is unchanged."""


@contextlib.contextmanager
def system_errors() -> Iterator[None]:
    """Raise an error of the system as an `OSError`, also where a library such as polars raises its own error for it."""
    try:
        yield
    except Exception as error:
        number = _SYSTEM.search(str(error))
        if isinstance(error, OSError) or number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def write_file(path: Path, data: bytes, *, replace: bool = True) -> None:
    """Write one file completely or not at all.

    Args:
        path: the file.
        data: its contents.
        replace: whether an existing file may be replaced.

    Raises:
        FileExistsError: the file exists and `replace` is False.
        SaveFailed: the disk is full or cannot be written; an existing file is unchanged.

    """
    with file_in_parts(path, replace=replace) as file:
        file.write(data)


@contextlib.contextmanager
def file_in_parts(path: Path, *, replace: bool = True) -> Iterator[IO[bytes]]:
    """As `write_file`, for a file that is written in parts inside the block and gets its name at the end."""
    temporary = temporary_of(path)
    try:
        remove_dead(path, ())
        temporary.unlink(missing_ok=True)
        with open(temporary, "xb") as file, system_errors():
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            _rename_to_new(temporary, path)
        sync_folder(path.parent)
    except FileExistsError as error:
        raise FileExistsError(f"{path} already exists and is left unchanged") from error
    except OSError as error:
        raise SaveFailed(error.errno, f"could not write {path}: {error.strerror or error}. It is unchanged.") from error
    finally:
        with contextlib.suppress(OSError):  # of a disk that cannot be written, as was said already
            temporary.unlink(missing_ok=True)


def _rename_to_new(temporary: Path, path: Path) -> None:
    """Rename a file to a name that must not be in use."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists() or path.is_symlink():
            raise FileExistsError(path) from None
        temporary.rename(path)


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file, and have the system write it to disk."""
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make the system write the file names of a folder to disk."""
    if os.name == "nt":
        return  # Windows cannot open folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
