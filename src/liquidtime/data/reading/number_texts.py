"""Read numbers written as text: decimal points or commas, thousands separators, words for "not observed"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from liquidtime.data.container import Note
from liquidtime.data.reading.missing_words import among_numbers, is_missing, missing_note

if TYPE_CHECKING:
    import polars

_GROUPS = "[' \u00a0\u2009\u202f’]"  # besides the other mark, separators of groups of three digits
_TAIL = r"(?:[eE][+-]?\d+)?$"


def _number(decimal: str, other: str) -> str:
    group = rf"(?:{other}|{_GROUPS})"
    return rf"^[+-]?(?:(?:\d+|[1-9]\d{{0,2}}(?:{group}\d{{3}})+)(?:{decimal}\d*)?|{decimal}\d+){_TAIL}"


_POINT, _COMMA = _number(r"\.", ","), _number(",", r"\.")
_EITHER = r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$"  # 1,234 may be more than a thousand, or have three decimals


@dataclass(frozen=True, eq=False)
class NumberTexts:
    """The texts of one column as numbers.

    Args:
        values: (R,) Float64; null where there is no number.
        bad: (R,) True where a text is neither a number nor a word for "not observed".
        notes: notes on words that mean "not observed" and on grouped digits.
        decimal: the decimal mark, if one was needed.
    """

    values: polars.Series
    bad: polars.Series
    notes: tuple[Note, ...]
    decimal: str | None


def stripped(words: Sequence[str | None] | polars.Series) -> polars.Series:
    """Return texts without surrounding spaces; null where nothing is left."""
    import polars

    series = words if isinstance(words, polars.Series) else polars.Series(values=words, dtype=polars.String)
    bare = series.str.strip_chars()
    return bare.set(bare == "", None)


def read_numbers(
    name: str, words: polars.Series, decimal: str | None = None, missing: Sequence[float | str] = ()
) -> NumberTexts:
    """Read a column of texts as numbers.

    Args:
        name: name of the column, for notes and errors.
        words: (R,) stripped texts.
        decimal: "." or ","; None to find it in the column.
        missing: more words for "not observed".

    Raises:
        ValueError: the comma in 1,234 may group thousands or mark decimals, and nothing else in the column decides.

    """
    import polars

    values = None if decimal == "," else words.cast(polars.Float64, strict=False)
    if values is not None and values.null_count() == words.null_count():
        return NumberTexts(values, polars.repeat(False, len(words), eager=True), (), None)
    absent = is_missing(words, among_numbers(missing))
    notes = [missing_note(name, words, absent)] if absent.any() else []
    rest = words.set(absent.fill_null(False), None)
    values = None if decimal == "," else rest.cast(polars.Float64, strict=False)
    if values is not None and values.null_count() == rest.null_count():
        return NumberTexts(values, polars.repeat(False, len(words), eager=True), tuple(notes), None)
    mark = decimal or find_decimal({name: rest}) or "."
    pattern = _POINT if mark == "." else _COMMA
    fits = rest.str.contains(pattern)
    other = "," if mark == "." else r"\."
    grouped = fits & rest.str.contains(rf"\d(?:{other}|{_GROUPS})\d{{3}}")
    bare = rest.set(~fits, None).str.replace_all(rf"(?:{other}|{_GROUPS})", "")
    numbers = bare.str.replace(",", ".", literal=True).cast(polars.Float64, strict=False)
    if values is not None:
        numbers = values.fill_null(numbers)  # inf and the like
    if grouped.fill_null(False).any():
        first = rest.filter(grouped.fill_null(False))[0]
        what = f"values of {name!r} have grouped digits, such as {first!r}, read as {numbers.filter(grouped)[0]:g}"
        notes.append(Note("kept", what, int(grouped.fill_null(False).sum()), len(words)))
    bad = numbers.is_null() & rest.is_not_null()
    return NumberTexts(numbers, bad, tuple(notes), mark)


def looks_numeric(words: polars.Series, missing: Sequence[float | str] = ()) -> polars.Series:
    """Return the texts, without missing words, of a column that is numeric with one of the two decimal marks.

    Args:
        words: (R,) stripped texts.
        missing: more words for "not observed".

    Returns:
        The texts; none if the column is not numeric.

    """
    rest = words.set(is_missing(words, among_numbers(missing)).fill_null(False), None).drop_nulls()
    fits = rest.str.contains(_POINT) | rest.str.contains(_COMMA)
    return rest if fits.all() else rest.clear()


def find_decimal(columns: dict[str, polars.Series], usual: str | None = None) -> str | None:
    """Return the decimal mark of the columns of one table; None if no text needs one.

    Args:
        columns: stripped texts by name.
        usual: decimal mark to use if 1,234 could be read in two ways.

    Raises:
        ValueError: both marks occur, or the comma in 1,234 may group thousands or mark decimals.

    """
    point: tuple[str, str] | None = None
    comma: tuple[str, str] | None = None
    unclear: tuple[str, str] | None = None
    for name, words in columns.items():
        weak = words.str.contains(_EITHER)
        as_point, as_comma = words.str.contains(_POINT), words.str.contains(_COMMA)
        points = words.filter((as_point & ~as_comma & ~weak & words.str.contains(r"[.,]")).fill_null(False))
        commas = words.filter((as_comma & ~as_point & ~weak & words.str.contains(r"[.,]")).fill_null(False))
        doubtful = words.filter((weak & words.str.contains(",", literal=True)).fill_null(False))
        point = point or ((name, points[0]) if len(points) else None)
        comma = comma or ((name, commas[0]) if len(commas) else None)
        unclear = unclear or ((name, doubtful[0]) if len(doubtful) else None)
    if point and comma:
        raise ValueError(
            f"numbers must have one decimal mark; {point[0]!r} has {point[1]!r} and {comma[0]!r} has {comma[1]!r}. "
            "Write all with one, or give `decimal`."
        )
    if not point and not comma and unclear:
        if usual is not None:
            return usual
        thousands, parts = unclear[1].replace(",", ""), unclear[1].replace(",", ".")
        raise ValueError(
            f"{unclear[1]!r} in {unclear[0]!r} could be {thousands} or {parts}; give `decimal` '.' for the first, "
            "',' for the second"
        )
    return "," if comma else "." if point else None
