"""The setting that decides whether scans run on kernels or in the plain PyTorch loops that define them."""

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
_latest = "auto"  # the latest choice of any thread; compilers guard on it and recompile when it changes


def backend() -> str:
    """Return the chosen backend: "auto", "native" or "reference"."""
    return _here.get() or _chosen


def set_backend(name: str) -> None:
    """Choose the backend of all later scans, in all threads that are not inside a `using_backend` block.

    Args:
        name: "native" for the compiled kernels wherever one supports the scan; "reference" for the plain loop; "auto"
            for native if it was built.

    Raises:
        ValueError: unknown name.
        NativeMissingError: "native" was not built; the message says how to build it.

    """
    global _chosen, _latest
    _check(name)
    _here.set(None)
    _chosen = _latest = name


@contextlib.contextmanager
def using_backend(name: str) -> Iterator[None]:
    """Choose the backend for the lines inside a `with` block, only in this thread or task."""
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
    """Return what scans on the CPU with a supported form currently run on: "native" or "reference"."""
    return "native" if native_is_live() else "reference"


def native_is_live() -> bool:
    """Return whether scans on the CPU run on the native kernel if it supports them."""
    return kernels_are_allowed() and library.is_built()


def kernels_are_allowed() -> bool:
    """Return whether scans may run on kernels at all, on any device."""
    if torch.compiler.is_compiling():
        return _are_allowed(_latest)
    return backend() != "reference"


def _are_allowed(latest: str) -> bool:
    return backend() != "reference"


# A compiler calls it once for each `latest`; this does what `torch.compiler.assume_constant_result` does, but does not
# load it.
_are_allowed._dynamo_marked_constant = True  # type: ignore[attr-defined]

set_backend(os.environ.get(VARIABLE, "auto"))
