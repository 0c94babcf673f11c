"""Find and load the compiled library, and explain why it is missing if it is."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import operator
import struct
import sys
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from liquidtime._checks import check_dt, check_lengths
from liquidtime._version import __version__
from liquidtime.ops.storage import check_stored

FILE_NAME = "libliquidtime_native" + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
ABI = 5  # the LT_ABI of boundary.h
LARGE = 1 << 22  # bytes
NO_MEMORY, BAD_INTERVAL, BAD_LENGTH, STALE, UNFIT = 1, 2, 3, 5, 6  # of boundary.h
_TRUSTED, _WRONG = 1, 2  # of `lt_bf16_unit`
_HOW = "Install a C++17 compiler and CMake, then run `pip install --force-reinstall --no-deps liquidtime` (or `make`)."


class NativeMissingError(RuntimeError):
    """The compiled library is missing or cannot be loaded."""


_library: ctypes.CDLL | None = None
_missing: str | None = None
_generation = 0


def load() -> ctypes.CDLL:
    """Return the compiled library, which is loaded once.

    Raises:
        NativeMissingError: it was not built or cannot be loaded; the message says how to build it.

    """
    global _library, _missing
    if _library is None and _missing is None:
        try:
            _library = _open(Path(__file__).with_name(FILE_NAME))
        except NativeMissingError as error:
            _missing = str(error)
    if _library is None:
        raise NativeMissingError(_missing)
    return _library


def _open(path: Path) -> ctypes.CDLL:
    if not path.exists():
        raise NativeMissingError(f"the native kernels were not built: the package has no {path.name}. {_HOW}")
    try:
        library = ctypes.CDLL(str(path))
        library.lt_version.restype, library.lt_abi.restype = ctypes.c_char_p, ctypes.c_int64
        version, abi = library.lt_version().decode(), library.lt_abi()
    except (OSError, AttributeError) as error:
        raise NativeMissingError(f"the native kernels cannot be loaded: {error}. {_HOW}") from error
    if (version, abi) != (__version__, ABI):
        raise NativeMissingError(
            f"the native kernels have version {version} and interface {abi}, but the package has version "
            f"{__version__} and interface {ABI}. {_HOW}"
        )
    library.lt_target.restype = ctypes.c_char_p
    library.lt_select.argtypes = [ctypes.c_char_p]
    library.lt_vector_bytes.restype = library.lt_cores.restype = ctypes.c_int64
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


@functools.cache
def held() -> ctypes.PyDLL:
    """Return the same library with functions that keep Python's interpreter lock while they run."""
    load()
    return ctypes.PyDLL(str(Path(__file__).with_name(FILE_NAME)))


@functools.cache
def sees_tensors() -> bool:
    """Return whether the library can inspect tensors itself, through PyTorch's stable C interface; tries it on one."""
    names = ("device_type", "layout", "dtype", "dim", "sizes", "strides", "storage_offset", "storage_size", "data_ptr")
    constants = ("device_type_cpu", "layout_strided", "dtype_float32", "dtype_float64")
    native = load()
    try:
        theirs = ctypes.CDLL("torch_cpu.dll" if sys.platform == "win32" else torch._C.__file__)
        functions = [ctypes.cast(getattr(theirs, f"aoti_torch_get_{name}"), ctypes.c_void_p).value for name in names]
        table = struct.pack("=9Q4q", *functions, *(getattr(theirs, f"aoti_torch_{name}")() for name in constants))
    except (OSError, AttributeError):
        return False
    native.lt_use_torch.argtypes, native.lt_use_torch.restype = [ctypes.c_char_p], None
    native.lt_look.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    native.lt_look.restype = ctypes.c_int64
    native.lt_use_torch(table)
    trial, seen = torch.zeros(4, 6, dtype=torch.float64)[1:, ::2], (ctypes.c_int64 * 5)()
    dim = native.lt_look(trial._cdata, 1, len(seen), ctypes.addressof(seen))
    return dim == 2 and [*seen] == [trial.data_ptr(), *trial.shape, *trial.stride()]


def is_built() -> bool:
    """Return whether the compiled library can be used."""
    return why_missing() is None


def why_missing() -> str | None:
    """Return why the compiled library cannot be used and how to build it; None if it can be used."""
    if _library is None and _missing is None:
        with contextlib.suppress(NativeMissingError):
            load()
    return _missing


why_missing._dynamo_marked_constant = True  # type: ignore[attr-defined]  # compilers cannot trace loading a library


def target() -> str:
    """Return the instruction set in use: "avx512", "avx2" or "baseline"."""
    name: bytes = load().lt_target()
    return name.decode()


def cores() -> int:
    """Return how many cores the kernels use at most, given the affinity and control groups of this process."""
    count: int = load().lt_cores()
    return count


@functools.cache
def bf16_unit() -> str:
    """Return how bf16 operands are multiplied: "avx512_bf16", or "emulated" with rounded float32 numbers.

    The first call tests the instruction of the processor on sums that have one exact answer. If an answer is wrong, the
    instruction is not used, and a warning says so.
    """
    unit = load().lt_bf16_unit()
    if unit == _WRONG:
        warnings.warn(
            "the bf16 instruction of this processor gave wrong sums in a test, so rounded float32 numbers are used "
            "instead, which is slower",
            RuntimeWarning,
            stacklevel=2,
        )
    return "avx512_bf16" if unit == _TRUSTED else "emulated"


def select_target(name: str) -> None:
    """Select an instruction set, for comparisons.

    Raises:
        ValueError: this machine does not have it.

    """
    if load().lt_select(name.encode()):
        raise ValueError(f"`name` must be an instruction set that this machine has; got {name!r}")
    bf16_unit.cache_clear()
    _vector_bytes.cache_clear()
    global _generation
    _generation += 1


def generation() -> int:
    """Return a number that changes with every change of the instruction set."""
    return _generation


def raise_for(code: int, dt: Tensor, lengths: Tensor | None) -> None:
    """Raise the exception for a code returned by a function of the library, unless it is 0.

    Args:
        code: a `Code` of boundary.h.
        dt: (B, T) the intervals passed to the function.
        lengths: (B,) the lengths, or None.

    Raises:
        ValueError: an interval or length is bad; the message says where.
        MemoryError: working memory could not be allocated.
        RuntimeError: the library refused the whole problem.

    """
    if not code:
        return
    if code == NO_MEMORY:
        raise MemoryError("the native kernel could not allocate its working memory")
    if code == BAD_INTERVAL:
        check_dt(dt, lengths)
    if code == BAD_LENGTH and lengths is not None:
        check_lengths(lengths, dt.shape[0], dt.shape[1], dt.device)
    raise RuntimeError(f"the native kernel refused its arguments (code {code})")


_is_negated, _is_dense, _offset, _pointer = Tensor.is_neg, Tensor.is_contiguous, Tensor.storage_offset, Tensor.data_ptr
_size = operator.attrgetter("nbytes")
_storage, _stored = Tensor.untyped_storage, torch.UntypedStorage.nbytes


def dense_addresses(names: Sequence[str], tensors: Sequence[Tensor], keep: list[Tensor]) -> list[int]:
    """Return the addresses of tensors, or of dense copies of them, which `keep` holds.

    Args:
        names: names of the tensors; the last one also stands for all further tensors.
        tensors: tensors of any strides.
        keep: receives the tensors that must live as long as the addresses are used.

    Raises:
        ValueError: the memory of a tensor does not hold all its numbers.

    """
    pointers, ends = [*map(_pointer, tensors)], [*map(_size, tensors)]
    if any(map(_offset, tensors)):
        ends = [tensor.nbytes + tensor.storage_offset() * tensor.element_size() for tensor in tensors]
    if (
        all(pointers)
        and all(map(_is_dense, tensors))
        and not any(map(_is_negated, tensors))
        and all(map(operator.ge, map(_stored, map(_storage, tensors)), ends))
    ):
        keep += tensors
        return pointers
    for index, tensor in enumerate(tensors):
        dense = settled(names[min(index, len(names) - 1)], tensor).contiguous()
        keep.append(dense)
        pointers[index] = dense.data_ptr()
    return pointers


def dense_address(name: str, tensor: Tensor, keep: list[Tensor]) -> int:
    """Return the address of one tensor; see `dense_addresses`."""
    return dense_addresses((name,), (tensor,), keep)[0]


def settled(name: str, tensor: Tensor) -> Tensor:
    """Return a tensor whose memory holds its actual numbers, rather than their negatives or nothing for zeros.

    Raises:
        ValueError: it has no memory for them; copying it with PyTorch would end the process.

    """
    if tensor._is_zerotensor():
        return tensor.clone()
    check_stored(name, tensor)
    return tensor.resolve_neg() if tensor.is_neg() else tensor


def dense_last(name: str, tensor: Tensor) -> Tensor:
    """Return a tensor, or a copy, whose last axis is dense."""
    tensor = settled(name, tensor)
    return tensor if tensor.stride(-1) == 1 or tensor.shape[-1] == 1 else tensor.contiguous()


def empty(like: Tensor, shape: Sequence[int]) -> Tensor:
    """Return an uninitialised tensor of the type of `like`, in large pages if it is large."""
    room = like.new_empty(*shape)  # a shape as one argument takes twice as long
    if room.nbytes >= LARGE:
        load().lt_advise(room.data_ptr(), room.nbytes)
    return room


def borrowed(like: Tensor, shape: Sequence[int]) -> Tensor:
    """Return an uninitialised tensor of the type of `like`, for data that stay inside an operation.

    The memory of a large one is reused: it comes from an earlier tensor if possible, and is kept for a later one when
    the tensor is freed.

    Raises:
        MemoryError: there is not enough memory.

    """
    count = math.prod(shape)
    if count * like.element_size() < LARGE:
        return like.new_empty(*shape)
    native = load()
    size: int = native.lt_piece_size(count * like.element_size())
    pointer = native.lt_take(size)
    if not pointer:
        raise MemoryError(f"the native kernels could not allocate {size} bytes")
    memory = (ctypes.c_char * size).from_address(pointer)
    weakref.finalize(memory, native.lt_give, pointer, size).atexit = False
    return torch.frombuffer(memory, dtype=like.dtype, count=count).view(shape)


def padded(size: int, itemsize: int) -> int:
    """Return `size` rounded up to whole vectors of numbers of `itemsize` bytes."""
    lanes = _vector_bytes() // itemsize
    return -(-size // lanes) * lanes


@functools.cache
def _vector_bytes() -> int:
    width: int = load().lt_vector_bytes()
    return width
