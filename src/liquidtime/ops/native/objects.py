"""Whether objects of Python are as they were, told by a walk through their dictionaries in the library."""

from __future__ import annotations

import ctypes
import functools
import gc
import struct
import sys
from collections.abc import Callable, Sequence
from ctypes import c_char_p, c_int64, c_void_p
from typing import Any

from liquidtime.ops.native import library

_FUNCTIONS = ("PyDict_Next", "PyObject_Type", "PyObject_GenericGetDict", "PyType_GetSlot", "Py_DecRef")


@functools.cache
def _same() -> tuple[Callable[..., int], bytes] | None:
    """Return the library's function and what it calls, or None where nobody holds a lock on the interpreter."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    same = library.held().lt_same
    same.argtypes = [c_char_p, c_char_p, c_int64, c_int64, c_int64]
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p).value for name in _FUNCTIONS]
    return same, struct.pack("=5Q", *addresses)


class Watch:
    """What instances, their classes and some dictionaries hold, object by object, with references to all of it.

    Args:
        instances: whose types and attributes are watched.
        dicts: more to watch.

    """

    def __init__(self, instances: Sequence[object], dicts: Sequence[dict[Any, Any]]) -> None:
        classes = [*dict.fromkeys(base for one in instances for base in type(one).__mro__ if base is not object)]
        own = [gc.get_referents(vars(base))[0] for base in classes]  # which a class shows by a proxy only
        watched = [*(vars(instance) for instance in instances), *own, *dicts]
        words = [id(part) for one in instances for part in (one, type(one), vars(one))]
        words += [id(part) for base in classes for part in (base, base.__bases__)]
        for table in watched:
            words += (id(table), len(table))
            for pair in table.items():
                words += map(id, pair)
        self._kept = instances, watched, [[*table.items()] for table in watched], [base.__bases__ for base in classes]
        counts = len(instances), len(classes), len(watched)
        same = _same()
        assert same is not None
        self._same, self._arguments = same[0], (same[1], struct.pack(f"={len(words)}Q", *words), *counts)

    @classmethod
    def on(cls, instances: Sequence[object], dicts: Sequence[dict[Any, Any]]) -> Watch | None:
        """Return a watch, or None where there can be none."""
        return cls(instances, dicts) if library.is_built() and _same() is not None else None

    def holds(self) -> bool:
        """Return whether everything is the very object that it was; False does not say that it matters."""
        return bool(self._same(*self._arguments))
