"""Names under which a process writes a file or folder before it is whole, and what killed processes left under them."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

_OLD = 3600.0


def temporary_of(path: Path) -> Path:
    """Return the name under which this process writes `path`."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def temporaries_of(path: Path) -> list[Path]:
    """Return the files and folders under which a process that was killed was writing `path`."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.\d+\.tmp")
    if not path.parent.is_dir():
        return []
    return sorted(item for item in path.parent.iterdir() if pattern.fullmatch(item.name) and not item.is_symlink())


def remove_folder(path: Path, names: Iterable[str]) -> None:
    """Remove the plain files of these names from a folder, and the folder if it is then empty; never a link."""
    if path.is_symlink() or not path.is_dir():
        return
    for name in sorted({*names}):
        file = path / name
        if file.is_file() and not file.is_symlink():
            file.unlink()
    with contextlib.suppress(OSError):  # it holds something else, which stays
        path.rmdir()


def remove_dead(path: Path, names: Iterable[str]) -> None:
    """Remove the temporaries of `path` whose process is gone and that nobody has touched for an hour.

    The hour is for processes of another machine that writes to the same disk, whose numbers mean nothing here.
    """
    for item in temporaries_of(path):
        with contextlib.suppress(OSError):
            old = time.time() - item.stat().st_mtime > _OLD
            if old and not _is_alive(int(item.name.split(".")[-2])):
                remove_folder(item, names)


def _is_alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # there is no way to ask that leaves the process alone
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
