"""Arrays as ``.npy`` files that are written and read in blocks of rows; never a pickle."""

from __future__ import annotations

import ast
import hashlib
import os
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from liquidtime.files.bounded import DamagedFolder
from liquidtime.files.sealed import SealedFolder

_MAGIC = b"\x93NUMPY\x01\x00"
_LONGEST = 1 << 10
"""Largest header of a file in bytes."""
_APART = 2**20
"""Number of bytes that are read at once."""


def header_of(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the header of an ``.npy`` file (format 1.0): type and shape of a C-ordered array."""
    text = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode()
    room = -(len(_MAGIC) + 2 + len(text) + 1) % 64
    text += b" " * room + b"\n"
    return _MAGIC + len(text).to_bytes(2, "little") + text


class ArrayWriter:
    """Writes one array to a new file in blocks of rows, and computes its checksum.

    Args:
        path: path of the file.
        dtype: type of the array.
        shape: shape of the whole array, which must be known before the first row is written.

    Attributes:
        size: number of bytes written so far.
    """

    def __init__(self, path: Path, dtype: Any, shape: tuple[int, ...]) -> None:
        self.dtype, self._shape = np.dtype(dtype), shape
        self._file: IO[bytes] = open(path, "xb")  # noqa: SIM115 (closed by `close`)
        self._sha, self.size, self._rows = hashlib.sha256(), 0, 0
        self._put(header_of(self.dtype, shape))

    def add(self, rows: npt.NDArray[Any]) -> None:
        """Append rows."""
        array = np.ascontiguousarray(rows, dtype=self.dtype)
        if array.shape[1:] != self._shape[1:]:
            raise ValueError(f"rows of shape {array.shape[1:]} do not fit an array of shape {self._shape}")
        self._rows += len(array)
        self._put(_bytes_of(array))

    def _put(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._sha.update(data)
        self.size += len(data)

    def close(self) -> tuple[int, str]:
        """Sync and close the file; return its size and SHA-256.

        Raises:
            ValueError: the number of rows that were added is not that of `shape`.

        """
        if self._rows != self._shape[0]:
            raise ValueError(f"{self._rows} rows were written of {self._shape[0]}")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self.size, self._sha.hexdigest()

    def abandon(self) -> None:
        """Close the file without finishing it."""
        self._file.close()


class ArrayFile:
    """An array in a folder with checksums, which is read in parts.

    Args:
        sealed: folder with checksums.
        name: name of the file.
        dtype: type that the array must have; for texts, only the kind is compared.
        shape: shape that the array must have.

    Raises:
        DamagedFolder: the file has another array, or none; only its header is read before.

    """

    def __init__(self, sealed: SealedFolder, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        head = sealed.peek(name, len(_MAGIC) + 2 + _LONGEST)
        length = int.from_bytes(head[len(_MAGIC) : len(_MAGIC) + 2], "little")
        begin = len(_MAGIC) + 2
        if not head.startswith(_MAGIC) or length > _LONGEST or len(head) < begin + length:
            raise DamagedFolder(f"{sealed.path / name} is not an array as it was written")
        self.path, self.shape, self.begin = sealed.path / name, shape, begin + length
        self.dtype = self._checked(head[begin : begin + length], dtype)
        self.width = int(np.prod(shape[1:], dtype=np.int64)) * self.dtype.itemsize
        size = sealed.size(name)
        if size != self.begin + shape[0] * self.width:
            raise DamagedFolder(
                f"{self.path} has {size:,} bytes; an array of shape {shape} has {self.begin + shape[0] * self.width:,}"
            )
        self._handle: int | None = None

    def _checked(self, text: bytes, wanted: str) -> np.dtype[Any]:
        """Return the type in a header; refuse an invalid header."""
        try:
            facts = ast.literal_eval(text.decode("latin-1").strip())
            dtype = np.dtype(facts["descr"]) if isinstance(facts["descr"], str) else None
            told = facts["fortran_order"], facts["shape"]
        except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
            raise DamagedFolder(f"{self.path} is not an array as it was written: {error}") from error
        fits = dtype is not None and (dtype.kind == "U" if wanted == "U" else dtype == np.dtype(wanted))
        if dtype is None or not fits or dtype.hasobject or told != (False, self.shape):
            raise DamagedFolder(f"{self.path} must be an array of {wanted} of shape {self.shape}; it is not")
        return dtype

    def read(self, low: int, high: int) -> npt.NDArray[Any]:
        """Return the rows from `low` up to, not including, `high`.

        Raises:
            DamagedFolder: the file has been shortened.

        """
        rows = np.empty((high - low, *self.shape[1:]), dtype=self.dtype)
        self.read_into(low, rows)
        return rows

    def read_into(self, low: int, rows: npt.NDArray[Any]) -> None:
        """Fill a contiguous array with the rows from `low` on; refuses what `read` refuses."""
        view = _bytes_of(rows)
        place, done = self.begin + low * self.width, 0
        while done < len(view):
            count = self._read_some(view[done:], place + done)
            if count == 0:
                raise DamagedFolder(f"{self.path} has been shortened since it was opened")
            done += count

    def _read_some(self, view: memoryview, place: int) -> int:
        if self._handle is None:
            self._handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        if hasattr(os, "preadv"):
            return os.preadv(self._handle, [view], place)
        os.lseek(self._handle, place, os.SEEK_SET)
        data = os.read(self._handle, min(len(view), _APART))
        view[: len(data)] = data
        return len(data)

    def mapped(self) -> npt.NDArray[Any]:
        """Return the whole array, mapped into memory and read-only."""
        if self.shape[0] * self.width == 0:
            return np.empty(self.shape, dtype=self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.begin, shape=self.shape)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handle": None}

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            os.close(self._handle)  # type: ignore[arg-type]


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    """Return the memory of a contiguous array."""
    return memoryview(array.reshape(-1).view(np.uint8).data) if array.size else memoryview(b"")
