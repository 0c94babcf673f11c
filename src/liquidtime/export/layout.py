"""The flat state of one series: which number stands where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FORMAT = 1
"""Of the state and of what stands around it in an exported folder; a change of either raises it."""

Kind: TypeAlias = Literal["double", "float"]


@dataclass(frozen=True)
class Field:
    """One part of the state.

    Args:
        name: e.g. "time" or "scale 0: carried".
        kind: of its numbers; the doubles and the floats of a state are one vector each.
        start: position of its first number in the vector of its kind.
        size: how many there are.
        meaning: in words.
    """

    name: str
    kind: Kind
    start: int
    size: int
    meaning: str


class Layout:
    """The fields of a state, in the order in which they were added; a series before its first sample is all zeros."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self._sizes: dict[Kind, int] = {"double": 0, "float": 0}

    def add(self, name: str, kind: Kind, size: int, meaning: str) -> Field:
        """Return a new field behind the others of its kind."""
        field = Field(name, kind, self._sizes[kind], size, meaning)
        self._sizes[kind] += size
        self.fields.append(field)
        return field

    @property
    def doubles(self) -> int:
        """How many doubles the state has."""
        return self._sizes["double"]

    @property
    def floats(self) -> int:
        """How many floats the state has."""
        return self._sizes["float"]

    @property
    def nbytes(self) -> int:
        """Bytes of one state."""
        return 8 * self.doubles + 4 * self.floats
