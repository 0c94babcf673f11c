"""Exchanges two names in one operation, so that neither is ever missing."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_HERE, _EXCHANGE = -100, 2


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two files or folders on one file system; return False if the system does not support it."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            return bool(library.renamex_np(*names, ctypes.c_uint(_EXCHANGE)) == 0)
        return bool(library.renameat2(_HERE, names[0], _HERE, names[1], ctypes.c_uint(_EXCHANGE)) == 0)
    except (OSError, AttributeError, TypeError):  # no such call, for example on Windows
        return False
