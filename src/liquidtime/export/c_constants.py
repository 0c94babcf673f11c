"""The constant arrays of a C file, and numbers in C notation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from liquidtime.export.quantise import Quantised

_BYTES = {"int8_t": 1, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "float": 4, "double": 8}


class Constants:
    """The constant arrays of a file; equal arrays are written once.

    Args:
        quantised: 8-bit weights by the identity of their values; empty for float weights.
    """

    def __init__(self, quantised: Mapping[int, Quantised]) -> None:
        self.quantised = quantised
        self.lines: list[str] = []
        self.nbytes = 0
        self._names: dict[tuple[str, bytes], str] = {}

    def array(self, kind: str, numbers: Sequence[float] | np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
        """Return the name of an array with a C type."""
        flat = np.asarray(numbers).reshape(-1)
        key = (kind, flat.tobytes())
        if key not in self._names:
            name = self._names[key] = f"k{len(self._names)}"
            texts = [literal(number, kind) for number in flat.tolist()]
            rows = [", ".join(texts[start : start + 10]) for start in range(0, len(texts), 10)]
            self.lines.append(f"static const {kind} {name}[{len(texts)}] = {{\n    " + ",\n    ".join(rows) + "};")
            self.nbytes += len(texts) * _BYTES[kind]
        return self._names[key]

    def places(self, numbers: Sequence[int]) -> str:
        """Return the name of an array of positions."""
        return self.array("uint16_t" if max(numbers, default=0) < 1 << 16 else "uint32_t", numbers)


def literal(number: float, kind: str) -> str:
    """Return a number in C notation."""
    if kind in ("int8_t", "uint8_t", "uint16_t", "uint32_t"):
        return str(int(number))
    if not math.isfinite(number):
        raise ValueError("a weight of the model is not finite; it cannot be exported")
    text = f"{number:.9g}" if kind == "float" else f"{number:.17g}"
    text += "" if any(mark in text for mark in ".e") else ".0"
    return text + ("f" if kind == "float" else "")
