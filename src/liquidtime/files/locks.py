"""A file lock that is released when its process ends, however it ends; on every operating system."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_FAR = 1 << 30
"""On Windows a locked byte cannot be read, so the locked byte lies after the text that names the process."""


class FolderInUse(RuntimeError):
    """Another run is using the folder."""


@contextmanager
def lock_file(path: Path, busy: str) -> Iterator[None]:
    """Hold a lock on a file, which is created if necessary; its text names the process that holds the lock.

    Args:
        path: the file.
        busy: message of `FolderInUse`, in which ``{pid}`` stands for the number of the process that holds the lock.

    Raises:
        FolderInUse: another process, or another part of this one, holds the lock.
        FileExistsError: there is a file of that name that is not a lock.
        OSError: the file cannot be written, for example because the disk is full.

    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if not (_take(handle) and _is_still(path, handle)):
            pid = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            raise FolderInUse(busy.format(pid=pid))
        if re.fullmatch(rb"\d{0,31}\s*", os.read(handle, 33)) is None:
            raise FileExistsError(f"{path} exists and is not a lock of ours; it is left unchanged. Move it away")
        os.lseek(handle, 0, os.SEEK_SET)
        os.ftruncate(handle, 0)
        try:
            os.write(handle, f"{os.getpid()}\n".encode())
        except OSError as error:
            raise OSError(error.errno, f"could not write {path}: {error.strerror}") from error
        yield
    finally:
        os.close(handle)


def _take(handle: int) -> bool:
    """Take the lock; return whether it was free. `fcntl` exists only on POSIX systems, `msvcrt` on Windows."""
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
    """Return whether the locked file still has that name: another process may just have removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
