"""Words that stand where nothing was observed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from liquidtime.data.container import Note

if TYPE_CHECKING:
    import polars

_ANYWHERE = ("na", "n/a", "#n/a", "#na", "<na>", "nan", "nat", "null", "?")
_AMONG_NUMBERS = (*_ANYWHERE, "-", "--", "–", "—", ".", "none", "nil", "missing")
"""`none` may be a category, so that it means nothing among numbers and times alone; likewise a dash."""


def among_numbers(missing: Sequence[float | str] = ()) -> set[str]:
    """Return the words, in lower case, that stand for no number or no time."""
    return {*_AMONG_NUMBERS, *_words(missing)}


def among_names(present: Collection[str], missing: Sequence[float | str] = ()) -> set[str]:
    """Return the words, in lower case, that stand for no category; a dash does unless there is a plus beside it.

    Args:
        present: the words that occur.
        missing: further words.
    """
    dash = set() if "+" in present else {"-"}
    return {*_ANYWHERE, *dash, *_words(missing)}


def _words(missing: Iterable[float | str]) -> set[str]:
    return {word.lower() for word in missing if isinstance(word, str)}


def is_missing(words: polars.Series, known: set[str]) -> polars.Series:
    """Return where stripped texts are one of the known words; null where they are null."""
    return words.str.to_lowercase().is_in(list(known))


def known_labels(labels: polars.Series, missing: Sequence[float | str] = ()) -> polars.Series:
    """Return labels with null in place of words that say that there is none; numbers stay as they are."""
    import polars

    if labels.dtype != polars.String:
        return labels
    bare = labels.str.strip_chars()
    absent = among_names(set(bare.drop_nulls().unique()), missing) | {""}
    return bare.set(is_missing(bare, absent).fill_null(False), None)


def missing_note(name: str, words: polars.Series, missing: polars.Series) -> Note:
    """Return the note about the words of a column that are taken as not observed.

    Args:
        name: of the column.
        words: its stripped texts.
        missing: where they are such words.
    """
    kinds = words.filter(missing.fill_null(False)).unique(maintain_order=True)
    shown = [repr(word) for word in kinds[:4]] + (["…"] if len(kinds) > 4 else [])
    return Note("kept", f"values of {name!r} written as {', '.join(shown)}: not observed", _count(missing), len(words))


def _count(flags: polars.Series) -> int:
    return int(flags.fill_null(False).sum())
