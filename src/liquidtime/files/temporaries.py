"""Temporary names for files and folders that are being written, and the remains of killed processes under them."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable
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
    """Remove temporary files of `path` whose process has ended and that have not changed for an hour.

    The hour protects processes of other machines that write to the same disk, whose process numbers mean nothing here.
    """
    for item in temporaries_of(path):
        with contextlib.suppress(OSError):
            old = time.time() - item.stat().st_mtime > _OLD
            if old and not _is_alive(int(item.name.split(".")[-2])):
                remove_folder(item, names)


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
