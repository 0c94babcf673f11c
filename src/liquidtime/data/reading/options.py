"""Options for reading tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from liquidtime.errors import nearest

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", "\\t": "\t"}
"""Names for separators that are hard to type."""


@dataclass(frozen=True)
class Reading:
    """Options for reading a table; what is None is detected, with a note if it is unusual.

    Args:
        separator: field separator of a text file: one character, or "comma", "semicolon", "tab", "pipe" or "space"
            (any number of spaces and tabs).
        decimal: decimal mark of numbers written as text, "." or ",".
        encoding: encoding of a text file, such as "cp1252"; UTF-8 if None.
        time_format: format of times written as text, such as "%d/%m/%Y %H:%M"; for whole numbers "epoch s",
            "epoch ms", "epoch us" or "epoch ns".
        missing: numbers and words that mean "not observed", besides empty fields, NA, N/A, NaN, null, "-" and "?".
        sheet: name of a sheet of a spreadsheet; the first if None.
        query: SQL query whose rows are the table, if the source is a database.
        usual: formats that were detected in an earlier table of the same kind (`SeriesSet.reading`); they decide what
            is ambiguous, and a note says where the new table differs.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    time_format: str | None = None
    missing: tuple[float | str, ...] = ()
    sheet: str | None = None
    query: str | None = None
    usual: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.separator is not None:
            put(self, "separator", _separator(self.separator))
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"`decimal` must be '.' or ','; got {self.decimal!r}")
        if self.decimal is not None and self.decimal == self.separator:
            raise ValueError(f"`decimal` and `separator` must differ; both are {self.decimal!r}")
        put(self, "missing", as_missing(self.missing))

    @staticmethod
    def of(options: Mapping[str, Any]) -> Reading:
        """Return the options by name; refuse an unknown one with the nearest name."""
        known = [field.name for field in fields(Reading)]
        for name in options:
            if name not in known:
                raise TypeError(f"`{name}` is not an option for reading tables{nearest(name, known) or '.'}")
        return Reading(**options)

    def expected(self, name: str) -> str | None:
        """Return the value of an option, or else that detected in an earlier table; None without either."""
        said: str | None = getattr(self, name)
        return said if said is not None else (self.usual or {}).get(name)

    def hints(self) -> Reading:
        """Return options for another table, of labels or static features; there they only decide what is ambiguous."""
        usual = {**(self.usual or {})}
        usual |= {name: getattr(self, name) for name in ("separator", "decimal") if getattr(self, name) is not None}
        return Reading(missing=self.missing, usual=usual)


def as_missing(missing: Sequence[float | str] | float | str) -> tuple[float | str, ...]:
    """Return numbers and words that mean "not observed"; numbers written as text become numbers."""
    items = [missing] if isinstance(missing, str | int | float) else list(missing)
    return tuple(_number_or_word(item) for item in items)


def _number_or_word(item: Any) -> float | str:
    try:
        return float(item)
    except (TypeError, ValueError):
        if not isinstance(item, str):
            raise TypeError(f"`missing` must be numbers and words; got {item!r}") from None
        return item.strip()


def _separator(text: str) -> str:
    character = SEPARATORS.get(text.strip().lower(), text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n' or character.isalnum():
        names = ", ".join(name for name in SEPARATORS if name.isalpha())
        raise ValueError(f"`separator` must be one character such as ';', or {names}; got {text!r}")
    return character
