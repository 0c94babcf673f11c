"""Temporary names for files and folders that are being written, and the remains of killed processes under them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_OLD = 3600.0


def temporary_of(path: Path) -> Path:
    """Return the temporary name under which this process writes `path`."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def temporaries_of(path: Path) -> list[Path]:
    """Return the temporary files and folders that killed processes left while they were writing `path`."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.\d+\.tmp")
    if not path.parent.is_dir():
        return []
    return sorted(item for item in path.parent.iterdir() if pattern.fullmatch(item.name) and not item.is_symlink())


def parts_of(path: Path) -> Path:
    """Return the name of which the folder for unfinished parts of `path` has a temporary one."""
    return path.with_name(f"{path.name}.parts")


def remove_folder(path: Path, names: Iterable[str]) -> None:
    """Remove plain files with these names, but no links, from a folder, and the folder if it is then empty."""
    if path.is_symlink() or not path.is_dir():
        return
    for name in sorted({*names}):
        file = path / name
        if file.is_file() and not file.is_symlink():
            file.unlink()
    with contextlib.suppress(OSError):  # it has other files, which are kept
        path.rmdir()


def remove_dead(path: Path, names: Iterable[str]) -> None:
    """Remove temporary files and folders of `path` that killed processes left; see `_is_dead`.

    Args:
        path: what they were writing.
        names: names of files in such a folder; a folder that has others is kept with them.

    """
    for item in temporaries_of(path):
        with contextlib.suppress(OSError):
            if not _is_dead(item):
                continue
            if item.is_dir():
                remove_folder(item, names)
            else:
                item.unlink()


@contextlib.contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """Create a folder beside `path` for parts of it, which is removed in the end, as are those of killed processes."""
    folder = temporary_of(parts_of(path))
    for item in temporaries_of(parts_of(path)):
        with contextlib.suppress(OSError):
            if item == folder or _is_dead(item):
                shutil.rmtree(item, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_dead(item: Path) -> bool:
    """Return whether the process of a temporary file has ended and the file has not changed for an hour.

    The hour protects processes of other machines that write to the same disk, whose process numbers mean nothing here.
    """
    old = time.time() - item.stat().st_mtime > _OLD
    return old and not _is_alive(int(item.name.split(".")[-2]))


def _is_alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # there is no way to check that does not disturb the process
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
