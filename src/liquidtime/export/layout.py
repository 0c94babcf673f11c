"""The flat state of one series: the position and meaning of each number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FORMAT = 1
"""Version of the state and of the other contents of an exported folder; any change of either increases it."""

Kind: TypeAlias = Literal["double", "float"]


@dataclass(frozen=True)
class Field:
    """One part of the state.

    Args:
        name: name, such as "time" or "scale 0: carried".
        kind: type of its numbers; the doubles and the floats of a state are one vector each.
        start: position of its first number in the vector of its type.
        size: number of numbers.
        meaning: description in words.
    """

    name: str
    kind: Kind
    start: int
    size: int
    meaning: str


class Layout:
    """The fields of a state, in the order in which they were added; before its first sample, a series is all zeros."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self._sizes: dict[Kind, int] = {"double": 0, "float": 0}

    def add(self, name: str, kind: Kind, size: int, meaning: str) -> Field:
        """Add a field after the others of its type, and return it."""
        field = Field(name, kind, self._sizes[kind], size, meaning)
        self._sizes[kind] += size
        self.fields.append(field)
        return field

    @property
    def doubles(self) -> int:
        """Number of doubles in the state."""
        return self._sizes["double"]

    @property
    def floats(self) -> int:
        """Number of floats in the state."""
        return self._sizes["float"]

    @property
    def nbytes(self) -> int:
        """Size of a state in bytes."""
        return 8 * self.doubles + 4 * self.floats
