"""Checks whether Python objects are unchanged, by the versions of their dictionaries or by a walk through them."""

from __future__ import annotations

import ctypes
import functools
import gc
import struct
import sys
from collections.abc import Sequence
from ctypes import c_char_p, c_int64, c_void_p
from typing import Any

from liquidtime.ops.native import library

_FUNCTIONS = ("PyDict_Next", "PyObject_Type", "PyObject_GenericGetDict", "PyType_GetSlot", "Py_DecRef")
_VERSION = 24  # offset of the version in a dictionary, in Python versions that have it (PEP 509)


class _Trial:
    pass


def version_of(table: dict[Any, Any]) -> int:
    """Return the number that distinguishes this state of a dictionary from all earlier states of any dictionary."""
    return ctypes.c_uint64.from_address(id(table) + _VERSION).value


@functools.cache
def have_versions() -> bool:
    """Return whether dictionaries have versions: in tested versions of Python, and only if a test confirms it."""
    if sys.version_info[:2] not in ((3, 11), (3, 12)) or struct.calcsize("P") != 8:
        return False
    if not hasattr(library.held(), "lt_same_versions"):  # the library is from a version without this function
        return False
    trial = _Trial()
    table, other = vars(trial), {"a": 1}
    seen = [version_of(table), version_of(other)]

    def note() -> None:
        seen.append(version_of(table))

    for change in (
        lambda: setattr(trial, "a", 1),
        lambda: setattr(trial, "a", 2),
        lambda: table.update(a=3),
        lambda: table.__setitem__("b", None),
        lambda: delattr(trial, "a"),
        lambda: table.pop("b"),
        lambda: table.setdefault("c", 1),
        lambda: table.clear(),
    ):
        change()
        note()
    still = version_of(table) == seen[-1] and table.get("a") is None and version_of(table) == seen[-1]
    return still and len({*seen}) == len(seen)


@functools.cache
def _functions() -> bytes | None:
    """Return the functions that the library calls, or None if Python runs without a lock on the interpreter."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p).value for name in _FUNCTIONS]
    return struct.pack("=5Q", *addresses)


class Watch:
    """The contents of instances, their classes and some dictionaries, object by object, with references to all of it.

    Args:
        instances: objects whose types and attributes are watched.
        dicts: further dictionaries to watch.

    """

    def __init__(self, instances: Sequence[object], dicts: Sequence[dict[Any, Any]]) -> None:
        classes = [*dict.fromkeys(base for one in instances for base in type(one).__mro__ if base is not object)]
        own = [gc.get_referents(vars(base))[0] for base in classes]  # a class exposes it only by a proxy
        watched = [*(vars(instance) for instance in instances), *own, *dicts]
        words = [id(part) for one in instances for part in (one, type(one), vars(one))]
        words += [id(part) for base in classes for part in (base, base.__bases__)]
        for table in watched:
            if have_versions():
                words += (id(table), version_of(table))
                continue
            words += (id(table), len(table))
            for pair in table.items():
                words += map(id, pair)
        self._kept = instances, watched, [[*table.items()] for table in watched], [base.__bases__ for base in classes]
        native, sizes = library.held(), (len(instances), len(classes), len(watched))
        self._arguments: tuple[Any, ...] = (_functions(), struct.pack(f"={len(words)}Q", *words), *sizes)
        self._same = native.lt_same
        if have_versions():
            self._same, self._arguments = native.lt_same_versions, (*self._arguments, _VERSION)
        self._same.argtypes = [c_char_p, c_char_p] + [c_int64] * (len(self._arguments) - 2)

    @classmethod
    def on(cls, instances: Sequence[object], dicts: Sequence[dict[Any, Any]]) -> Watch | None:
        """Return a watch, or None if it is not possible here."""
        return cls(instances, dicts) if library.is_built() and _functions() is not None else None

    def holds(self) -> bool:
        """Return whether every object is still the very same; False does not say whether the change matters."""
        return bool(self._same(*self._arguments))
