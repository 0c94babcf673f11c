"""Read untrusted files, with limits on the memory and time that they can cost.

The values of a JSON file are counted before it is parsed, and the header of a safetensors file is compared with the
length of the file before any tensor is created.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LARGEST_HEADER = 1 << 22
_HEADER_VALUES = 400_000
_MOST_DIMENSIONS = 16
_ITEM_SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "I16": 2, "F16": 2, "BF16": 2, "I32": 4, "F32": 4, "I64": 8, "F64": 8,
}  # fmt: skip


class DamagedFolder(ValueError):
    """A file of a saved folder is missing or was changed."""


@dataclass(frozen=True)
class TensorEntry:
    """One tensor in the header of a safetensors file.

    Args:
        dtype: type of its numbers, such as "F32".
        shape: size of each axis.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """The number of numbers in the tensor."""
        return math.prod(self.shape)


def json_from_bytes(raw: bytes, source: str, values: int) -> Any:
    """Return the contents of a JSON file.

    Args:
        raw: the bytes of the file.
        source: name of the file in an error message.
        values: largest number of values allowed, lists and objects included.

    Raises:
        DamagedFolder: there are more values, a name occurs twice in an object, or it is not JSON.

    """
    count = raw.count(b",") + raw.count(b"[") + raw.count(b"{")
    if count > values:
        raise DamagedFolder(f"{source} has up to {count:,} values; at most {values:,} are allowed")
    try:
        return json.loads(raw, object_pairs_hook=_different_names)
    except (ValueError, RecursionError) as error:
        raise DamagedFolder(f"{source} is not JSON: {error}") from error


def tensor_entries(head: bytes, size: int) -> dict[str, TensorEntry]:
    """Return the tensors that the header of a safetensors file lists, by name.

    Args:
        head: the first `LARGEST_HEADER` + 8 bytes of the file or more, or all of it.
        size: size of the whole file in bytes.

    Raises:
        DamagedFolder: the header is too long or malformed, or its tensors do not fill the file exactly.

    """
    length = int.from_bytes(head[:8], "little")
    if len(head) < 8 or length > size - 8:
        raise DamagedFolder("not a safetensors file: its header is longer than the file")
    if length > LARGEST_HEADER:
        raise DamagedFolder(f"not an acceptable safetensors file: its header has {length:,} bytes")
    listed = json_from_bytes(head[8 : 8 + length], "the header of a safetensors file", _HEADER_VALUES)
    if not isinstance(listed, dict):
        raise DamagedFolder("not a safetensors file: its header is not an object")
    listed.pop("__metadata__", None)
    entries, spans = {}, []
    for name, described in listed.items():
        try:
            dtype, shape, (begin, end) = described["dtype"], described["shape"], described["data_offsets"]
            entry = TensorEntry(dtype, tuple(shape))
            whole = all(type(number) is int and 0 <= number < 1 << 62 for number in (*shape, begin, end))
            if not whole or len(shape) > _MOST_DIMENSIONS or end - begin != entry.elements * _ITEM_SIZES[dtype]:
                raise ValueError("its sizes are inconsistent")
        except (ValueError, TypeError, KeyError) as error:
            raise DamagedFolder(f"not a safetensors file: tensor {name[:80]!r}: {error}") from error
        entries[name] = entry
        spans.append((begin, end))
    if _end_of(spans) != size - 8 - length:
        raise DamagedFolder("not a safetensors file: its tensors do not fill it without gaps and overlaps")
    return entries


def _end_of(spans: Sequence[tuple[int, int]]) -> int | None:
    """Return the end of consecutive spans; None if they have gaps or overlap."""
    reached = 0
    for begin, end in sorted(spans):
        if begin != reached:
            return None
        reached = end
    return reached


def _different_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("a name occurs twice in one object")
    return named
