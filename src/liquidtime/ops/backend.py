"""Which way the scans are computed: by the kernels or by the plain PyTorch loops that define them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from liquidtime._checks import check_choice
from liquidtime.ops.native import library

BACKENDS = ("auto", "native", "reference")
VARIABLE = "LIQUIDTIME_BACKEND"

_chosen = "auto"
_kernels_allowed = True


def backend() -> str:
    """Return what is asked for: "auto", "native" or "reference"."""
    return _chosen


def set_backend(name: str) -> None:
    """Choose the backend of all scans from here on.

    Args:
        name: "native", the compiled kernels wherever one fits; "reference", the plain loop; "auto", native if it
            was built.

    Raises:
        ValueError: another name.
        NativeMissingError: "native", but it was not built; the text says how to build it.

    """
    global _chosen, _kernels_allowed
    check_choice("backend", name, BACKENDS)
    if name == "native":
        library.load()
    _chosen, _kernels_allowed = name, name != "reference"


@contextlib.contextmanager
def using_backend(name: str) -> Iterator[None]:
    """Choose the backend for the lines inside a `with`."""
    before = _chosen
    set_backend(name)
    try:
        yield
    finally:
        set_backend(before)


def live_backend() -> str:
    """Return what scans on the CPU that have a kernel run on now: "native" or "reference"."""
    return "native" if native_is_live() else "reference"


def native_is_live() -> bool:
    """Return whether scans on the CPU that have a kernel run on it."""
    return _kernels_allowed and library.is_built()


def kernels_are_allowed() -> bool:
    """Return whether scans may run on kernels at all, those of any device."""
    return _kernels_allowed


set_backend(os.environ.get(VARIABLE, "auto"))
library.why_missing()  # loads it, which no compiler can follow
