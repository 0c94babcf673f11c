"""Read folders that `write_folder` wrote: only files whose checksum is in the manifest, and with bounds on size."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from liquidtime.files.bounded import DamagedFolder, json_from_bytes

MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 1 << 16
_PART, _LARGE = 1 << 20, 1 << 26
_CAREFULLY = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""Do not follow links or wait for pipes, if the system has such flags; read binary files on Windows."""


class SealedFolder:
    """A folder that `write_folder` wrote, or that claims so: only files with a checksum in the manifest are read.

    Args:
        path: the folder.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: its manifest is missing or damaged.

    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise FileNotFoundError(f"there is no folder {path}")
        self.path, self.entries = path, _entries(path)

    def size(self, name: str, largest: int | None = None) -> int:
        """Return the size of a file according to the manifest.

        Raises:
            DamagedFolder: the manifest does not list it, or it is larger than `largest`.

        """
        if name not in self.entries:
            raise DamagedFolder(f"{self.path / MANIFEST} does not list {name}")
        size = self.entries[name][0]
        if largest is not None and size > largest:
            raise DamagedFolder(f"{self.path / name} has {size:,} bytes; at most {largest:,} are allowed")
        return size

    def read(self, name: str, largest: int | None = None) -> bytes:
        """Return the contents of a file after comparing them with the manifest.

        Raises:
            DamagedFolder: it is missing, too large, not a plain file, or has another size or SHA-256.

        """
        size = self.size(name, largest)
        with _opened(self.path / name, size) as file:
            data = file.read(size)
            self._compare(name, hashlib.sha256(data), len(data), file.read(1))
        return data

    def peek(self, name: str, count: int) -> bytes:
        """Return the first `count` bytes of a file, without comparing them with the manifest."""
        with _opened(self.path / name, self.size(name)) as file:
            return file.read(count)

    def check(self, names: Iterable[str], largest: int | None = None) -> None:
        """Compare files with the manifest without keeping them.

        Args:
            names: names of the files.
            largest: largest total size in bytes.
        """
        total = 0
        for name in names:
            total += self.size(name)
            if largest is not None and total > largest:
                raise DamagedFolder(f"{self.path / name} has {self.size(name):,} bytes, too many for such a file")
            digest, left = hashlib.sha256(), self.size(name)
            with _opened(self.path / name, left) as file:
                while left and (part := file.read(min(left, _PART))):
                    digest.update(part)
                    left -= len(part)
                self._compare(name, digest, self.size(name) - left, file.read(1))

    def _compare(self, name: str, digest: Any, size: int, after: bytes) -> None:
        if size != self.entries[name][0] or after:
            raise DamagedFolder(f"{self.path / name} changed its size while it was read")
        if digest.hexdigest() != self.entries[name][1]:
            raise DamagedFolder(
                f"{self.path / name} has another sha256 than {MANIFEST} says: the file is damaged or was changed"
            )


def problem_of(path: Path) -> str | None:
    """Return a description of what is wrong with a folder, or None if it is undamaged."""
    try:
        sealed = SealedFolder(path)
        sealed.check(sealed.entries)
    except (OSError, DamagedFolder) as error:
        return str(error)
    return None


def _entries(path: Path) -> dict[str, tuple[int, str]]:
    """Return (size, SHA-256) by file name from the manifest of a folder.

    Raises:
        DamagedFolder: it is missing, or differs from the format of `write_folder`.

    """
    with _opened(path / MANIFEST, None) as file:
        raw = file.read(_LARGEST_MANIFEST + 1)
    if len(raw) > _LARGEST_MANIFEST:
        raise DamagedFolder(f"{path / MANIFEST} has more than {_LARGEST_MANIFEST:,} bytes, too many for a manifest")
    parsed = json_from_bytes(raw, str(path / MANIFEST), _LARGEST_MANIFEST)
    try:
        entries = {str(name): (int(entry["bytes"]), str(entry["sha256"])) for name, entry in parsed["files"].items()}
        canonical = manifest_text(entries).encode()
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedFolder(f"{path / MANIFEST} is not a manifest: {error}") from error
    if canonical != raw:
        raise DamagedFolder(f"{path / MANIFEST} was changed")
    for name in entries:
        check_name(name)
    return entries


def manifest_text(entries: Mapping[str, tuple[int, str]]) -> str:
    """Return the text of a manifest with (size, SHA-256) by file name."""
    listed = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in entries.items()}
    return json.dumps({"files": listed}, indent=1, sort_keys=True) + "\n"


def check_name(name: str) -> None:
    """Refuse a name that is not the plain name of a file inside a folder."""
    if not name or name != os.path.basename(name) or name in (".", "..", MANIFEST) or "\0" in name or "\\" in name:
        raise DamagedFolder(f"{name!r} is not the plain name of a file inside the folder")


@contextlib.contextmanager
def _opened(path: Path, size: int | None) -> Iterator[IO[bytes]]:
    """Open a plain file, of the given size if known; refuse links, pipes, devices and files that are mostly holes."""
    try:
        handle = os.open(path, os.O_RDONLY | _CAREFULLY)
    except (OSError, ValueError) as error:
        raise DamagedFolder(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise DamagedFolder(f"{path} is not a plain file")
        if size is not None and facts.st_size != size:
            raise DamagedFolder(f"{path} has {facts.st_size} bytes, not the {size} in {MANIFEST}")
        if facts.st_size > _LARGE and getattr(facts, "st_blocks", facts.st_size) * 512 < facts.st_size // 4:
            raise DamagedFolder(f"{path} has {facts.st_size:,} bytes, most of them holes; no saved file has holes")
    except BaseException:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as file:
        yield file
