"""Notes: a record of every repair when data are read, so that nothing is changed silently."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

_SHOWN = 3


@dataclass(frozen=True)
class Note:
    """One finding about the data.

    Args:
        kind: "repaired" (changed to make sense), "dropped" (left out) or "kept" (unusual, but valid and handled), which
            is printed as "note".
        what: the finding without its count, such as "times were earlier than in the row before; sorted".
        count: how many rows, values, series or channels it concerns.
        of: how many there are.
        first: the first examples in words, such as "series 7 at position 3", and "…" if there are more.
    """

    kind: Literal["repaired", "dropped", "kept"]
    what: str
    count: int
    of: int
    first: tuple[str, ...] = ()

    def __str__(self) -> str:
        examples = f" ({', '.join(self.first)})" if self.first else ""
        share = f"all {self.of:,}" if self.count == self.of > 1 else f"{self.count:,} of {self.of:,}"
        return f"{'note' if self.kind == 'kept' else self.kind}: {share} {self.what}{examples}"


class Findings:
    """Collects the notes while data are read; with `strict`, data that would be repaired or dropped are refused."""

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self._notes: list[Note] = []

    def add(self, note: Note) -> None:
        """Record a note, or refuse the data because of it."""
        if note.count == 0:
            return
        if self.strict and note.kind != "kept":
            raise ValueError(f"the data would have to be repaired, which `strict` forbids: {note}")
        self._notes.append(note)

    @property
    def notes(self) -> tuple[Note, ...]:
        """All notes so far, in order."""
        return tuple(self._notes)


def first_words(names: Iterable[Any]) -> tuple[str, ...]:
    """Return the first few names as texts."""
    words = [str(name) for name in itertools.islice(names, _SHOWN + 1)]
    return (*words[:_SHOWN], "…") if len(words) > _SHOWN else tuple(words)


def first_places(
    bad: npt.NDArray[np.bool_],
    codes: npt.NDArray[Any],
    ids: npt.NDArray[Any],
    say: Callable[[int], str] | None = None,
) -> tuple[str, ...]:
    """Return the places of the first bad rows: the id of the series and the position within it.

    Args:
        bad: (R,) True for a bad row.
        codes: (R,) series of each row.
        ids: (S,) the ids.
        say: returns what is wrong with a row; written in front of its place.
    """
    offenders = []
    for row in np.flatnonzero(bad)[:_SHOWN]:
        code = codes[row]
        position = int(np.count_nonzero(codes[:row] == code))
        words = f"{say(int(row))} in " if say else ""
        offenders.append(f"{words}series {ids[code]} at position {position}")
    return (*offenders, "…") if np.count_nonzero(bad) > _SHOWN else tuple(offenders)
