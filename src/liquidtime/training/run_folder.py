"""The folder of one run: who holds it, and what lies where."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK, CHECKPOINT, LOG, TENSORBOARD = "lock", "checkpoint", "metrics.jsonl", "tensorboard"


class FolderInUse(RuntimeError):
    """Another run is at work in the folder."""


@contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be, for one run; the lock goes with the process, however it ends.

    Raises:
        FolderInUse: another run holds it; the text names its process.

    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise FolderInUse(
                f"`folder` {folder} is in use by process {pid}. Wait for it to end, or choose another folder."
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
