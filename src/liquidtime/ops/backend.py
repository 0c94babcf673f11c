"""Which way the scans are computed: by the kernels or by the plain PyTorch loops that define them."""

from __future__ import annotations

import contextlib
import contextvars
import os
from collections.abc import Iterator

import torch

from liquidtime._checks import check_choice
from liquidtime.ops.native import library

BACKENDS = ("auto", "native", "reference")
VARIABLE = "LIQUIDTIME_BACKEND"

_chosen = "auto"
_here: contextvars.ContextVar[str | None] = contextvars.ContextVar("liquidtime_backend", default=None)
_latest = "auto"  # chosen by anybody: what a compiler looks at, to compile anew


def backend() -> str:
    """Return what is asked for: "auto", "native" or "reference"."""
    return _here.get() or _chosen


def set_backend(name: str) -> None:
    """Choose the backend of all scans from here on, of all threads that do not stand inside a `using_backend`.

    Args:
        name: "native", the compiled kernels wherever one fits; "reference", the plain loop; "auto", native if it
            was built.

    Raises:
        ValueError: another name.
        NativeMissingError: "native", but it was not built; the text says how to build it.

    """
    global _chosen, _latest
    _check(name)
    _here.set(None)
    _chosen = _latest = name


@contextlib.contextmanager
def using_backend(name: str) -> Iterator[None]:
    """Choose the backend for the lines inside a `with`, in this thread or task alone."""
    global _latest
    _check(name)
    token = _here.set(name)
    _latest = name
    try:
        yield
    finally:
        _here.reset(token)
        _latest = backend()


def _check(name: str) -> None:
    check_choice("backend", name, BACKENDS)
    if name == "native":
        library.load()


def live_backend() -> str:
    """Return what scans on the CPU that have a kernel run on now: "native" or "reference"."""
    return "native" if native_is_live() else "reference"


def native_is_live() -> bool:
    """Return whether scans on the CPU that have a kernel run on it."""
    return kernels_are_allowed() and library.is_built()


def kernels_are_allowed() -> bool:
    """Return whether scans may run on kernels at all, those of any device."""
    if torch.compiler.is_compiling():
        return _are_allowed(_latest)
    return backend() != "reference"


def _are_allowed(latest: str) -> bool:
    return backend() != "reference"


# A compiler calls it once for each `latest`; what `torch.compiler.assume_constant_result` does, without loading it.
_are_allowed._dynamo_marked_constant = True  # type: ignore[attr-defined]

set_backend(os.environ.get(VARIABLE, "auto"))
