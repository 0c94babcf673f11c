"""A lock on a file that goes with the process that holds it, however that ends; on every system."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FAR = 1 << 30
"""Windows locks a byte for reading too, so the locked one lies past the text that names the holder."""


class FolderInUse(RuntimeError):
    """Another run is at work in the folder."""


@contextmanager
def lock_file(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock on a file, made if need be; its text names the process that holds it.

    Args:
        path: the file.
        busy: the message for `FolderInUse`, with ``{pid}`` where the holder's process number belongs.

    Raises:
        FolderInUse: another process, or another part of this one, holds it.

    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if not (_take(handle) and _is_still(path, handle)):
            pid = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            raise FolderInUse(busy.format(pid=pid))
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)


def _take(handle: int) -> bool:
    """Return whether the lock was free; `fcntl` is of POSIX only, `msvcrt` of Windows."""
    system: Any
    try:
        system = importlib.import_module("fcntl")
    except ImportError:
        system = importlib.import_module("msvcrt")
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            system.locking(handle, system.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True
    try:
        system.flock(handle, system.LOCK_EX | system.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(path: Path, handle: int) -> bool:
    """Return whether the locked file is the one of that name: its last holder may just have removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
