"""Words that mean "not observed"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from liquidtime.data.container import Note

if TYPE_CHECKING:
    import polars

_ANYWHERE = ("na", "n/a", "n.a.", "n.a", "#n/a", "#na", "<na>", "nan", "nat", "null", "?")
_AMONG_NUMBERS = (*_ANYWHERE, "-", "--", "–", "—", ".", "none", "nil", "missing")
"""`none` and a dash may be categories, so they mean "not observed" only among numbers and times."""


def among_numbers(missing: Sequence[float | str] = ()) -> set[str]:
    """Return the words, in lower case, that mean "not observed" among numbers and times."""
    return {*_AMONG_NUMBERS, *_words(missing)}


def among_names(present: Collection[str], missing: Sequence[float | str] = ()) -> set[str]:
    """Return the words, in lower case, that mean "no category"; a dash does, unless there is also a plus.

    Args:
        present: the words that occur.
        missing: more such words.
    """
    dash = set() if "+" in present else {"-"}
    return {*_ANYWHERE, *dash, *_words(missing)}


def _words(missing: Iterable[float | str]) -> set[str]:
    return {word.lower() for word in missing if isinstance(word, str)}


def is_missing(words: polars.Series, known: set[str]) -> polars.Series:
    """Return where stripped texts are among these words; null where they are null."""
    return words.str.to_lowercase().is_in(list(known))


def known_labels(labels: polars.Series, missing: Sequence[float | str] = ()) -> polars.Series:
    """Return labels with null in place of words that mean "no label"; numbers do not change."""
    import polars

    if labels.dtype != polars.String:
        return labels
    bare = labels.str.strip_chars()
    absent = among_names(set(bare.drop_nulls().unique()), missing) | {""}
    return bare.set(is_missing(bare, absent).fill_null(False), None)


def missing_note(name: str, words: polars.Series, missing: polars.Series) -> Note:
    """Return the note about words in a column that are read as not observed.

    Args:
        name: name of the column.
        words: stripped texts of the column.
        missing: whether each text is such a word.
    """
    kinds = words.filter(missing.fill_null(False)).unique(maintain_order=True)
    shown = [repr(word) for word in kinds[:4]] + (["…"] if len(kinds) > 4 else [])
    return Note("kept", f"values of {name!r} are {', '.join(shown)}, read as not observed", _count(missing), len(words))


def _count(flags: polars.Series) -> int:
    return int(flags.fill_null(False).sum())
