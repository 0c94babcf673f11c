"""Finds and loads the compiled library, and says why there is none."""

from __future__ import annotations

import ctypes
import functools
import math
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

FILE_NAME = "libliquidtime_native.so"
LARGE = 1 << 22  # bytes
_TRUSTED, _WRONG = 1, 2  # of `lt_bf16_unit`
_HOW = "Install a C++17 compiler and CMake, then run `pip install --force-reinstall --no-deps liquidtime` (or `make`)."


class NativeMissingError(RuntimeError):
    """The compiled library is not there or cannot be loaded."""


@functools.cache
def load() -> ctypes.CDLL:
    """Return the compiled library, loaded once.

    Raises:
        NativeMissingError: it was not built or does not load; the text says how to build it.

    """
    path = Path(__file__).with_name(FILE_NAME)
    if not path.exists():
        raise NativeMissingError(f"the native kernels are not built: there is no {FILE_NAME} in the package. {_HOW}")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise NativeMissingError(f"the native kernels do not load: {error}. {_HOW}") from error
    library.lt_target.restype = ctypes.c_char_p
    library.lt_select.argtypes = [ctypes.c_char_p]
    library.lt_vector_bytes.restype = ctypes.c_int64
    library.lt_advise.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.lt_advise.restype = None
    library.lt_piece_size.argtypes = library.lt_take.argtypes = [ctypes.c_int64]
    library.lt_piece_size.restype, library.lt_take.restype = ctypes.c_int64, ctypes.c_void_p
    library.lt_give.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    library.lt_give.restype = None
    library.lt_bf16_unit.restype = ctypes.c_int64
    for name in ("lt_bf16_product", "lt_bf16_outer"):
        getattr(library, name).argtypes = [ctypes.c_int64] * 3 + [ctypes.c_void_p] * 3
    return library


def is_built() -> bool:
    """Return whether the compiled library can be used."""
    return why_missing() is None


def why_missing() -> str | None:
    """Return why the compiled library cannot be used and how to build it; None where it can."""
    try:
        load()
    except NativeMissingError as error:
        return str(error)
    return None


def target() -> str:
    """Return the instruction set in use: "avx512", "avx2" or "baseline"."""
    name: bytes = load().lt_target()
    return name.decode()


@functools.cache
def bf16_unit() -> str:
    """Return what multiplies bf16 operands: "avx512_bf16", or "emulated" where they are rounded float32 numbers.

    When first asked, the processor's instruction is tried on sums that have one exact answer. Where it gives another it
    is not used, and a warning says so.
    """
    found = load().lt_bf16_unit()
    if found == _WRONG:
        warnings.warn(
            "the processor's bf16 instruction gave wrong sums in a trial, so rounded float32 numbers are multiplied "
            "instead, which is slower",
            RuntimeWarning,
            stacklevel=2,
        )
    return "avx512_bf16" if found == _TRUSTED else "emulated"


def select_target(name: str) -> None:
    """Use another instruction set, for comparisons; what was packed for the one before must not be used again.

    Raises:
        ValueError: this machine cannot run it.

    """
    if load().lt_select(name.encode()):
        raise ValueError(f"`name` must be an instruction set that this machine has; got {name!r}")
    bf16_unit.cache_clear()


def empty(like: Tensor, shape: Sequence[int]) -> Tensor:
    """Return an uninitialised tensor, in large pages where it is large, of the type of `like`."""
    made = like.new_empty(shape)
    if made.nbytes >= LARGE:
        load().lt_advise(made.data_ptr(), made.nbytes)
    return made


def borrowed(like: Tensor, shape: Sequence[int]) -> Tensor:
    """Return an uninitialised tensor of the type of `like`, for what stays inside an operation.

    Where it is large its memory is one that was used before, if there is one, and is kept for the next when the tensor
    is gone.

    Raises:
        MemoryError: there is none.

    """
    count = math.prod(shape)
    if count * like.element_size() < LARGE:
        return like.new_empty(shape)
    native = load()
    size: int = native.lt_piece_size(count * like.element_size())
    address = native.lt_take(size)
    if not address:
        raise MemoryError(f"the native kernels could not get {size} bytes")
    memory = (ctypes.c_char * size).from_address(address)
    weakref.finalize(memory, native.lt_give, address, size).atexit = False
    return torch.frombuffer(memory, dtype=like.dtype, count=count).view(shape)


def padded(size: int, itemsize: int) -> int:
    """Return `size` rounded up to whole vectors of numbers of `itemsize` bytes."""
    lanes: int = load().lt_vector_bytes() // itemsize
    return -(-size // lanes) * lanes
