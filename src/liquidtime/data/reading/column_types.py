"""Types of the columns of a text file: numbers if every field is one, truth values, otherwise unchanged texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from liquidtime.data.container import Note
from liquidtime.data.reading.missing_words import among_numbers, is_missing, missing_note
from liquidtime.data.reading.number_texts import find_decimal, looks_numeric, read_numbers, stripped
from liquidtime.data.reading.options import Reading

if TYPE_CHECKING:
    import polars

_LEADING_ZERO = r"^[+-]?0\d"
_DIGITS = r"^[+-]?\d+$"


def typed_columns(frame: polars.DataFrame, reading: Reading) -> tuple[polars.DataFrame, str, list[Note]]:
    """Convert columns of texts to their types.

    Whole numbers with leading zeros stay texts (007 is a name), and so do those with more than 64 bits, dates and
    words. The decimal mark is the same in the whole file.

    Args:
        frame: columns of texts.
        reading: options, of which `decimal`, `missing` and `usual` are used.

    Returns:
        The frame, its decimal mark, and the notes.

    Raises:
        ValueError: numbers have both decimal marks, or 1,234 could be read in two ways.

    """
    columns: list[polars.Series] = []
    waiting: dict[str, polars.Series] = {}
    notes: list[Note] = []
    for column in frame:
        words = stripped(column)
        plain, note = _plain(words, reading)
        if plain is None:
            numeric = looks_numeric(words, reading.missing)
            if len(numeric) and not _is_name(numeric):
                waiting[column.name] = numeric
        elif note is not None:
            notes.append(note)
        columns.append((words if plain is None else plain).alias(column.name))
    mark = reading.decimal
    if mark is None and waiting:
        mark = _decimal_of(columns, waiting, (reading.usual or {}).get("decimal"))
    for place, column in enumerate(columns):
        if column.name in waiting:
            parsed = read_numbers(column.name, column, mark or ".", reading.missing)
            if not parsed.bad.any():
                notes += parsed.notes
                columns[place] = parsed.values.alias(column.name)
    if mark == "," and reading.decimal is None:
        notes.insert(0, Note("kept", "columns have decimal commas", len(waiting), len(columns), tuple(waiting)[:3]))
    return frame.with_columns(columns), mark or ".", notes


def _is_name(words: polars.Series) -> bool:
    """Return whether digits are a name and not a number: they start with 0, or there are too many."""
    return bool(words.str.contains(_DIGITS).all())


def _decimal_of(columns: list[polars.Series], waiting: dict[str, polars.Series], usual: str | None) -> str | None:
    """Return the decimal mark of a file.

    Args:
        columns: all columns; those that are numbers have points as decimal marks, or no marks.
        waiting: columns that may have commas as decimal marks.
        usual: decimal mark of an earlier table.

    Raises:
        ValueError: in a column such as 1.234, next to one with decimal commas, points could group thousands.

    """
    import polars

    fractions = [column for column in columns if column.dtype == polars.Float64]
    thousandths = [column for column in fractions if (column.drop_nans().drop_nulls() % 1 != 0).any()]
    mark = find_decimal(waiting, usual or ("." if thousandths else None))
    if mark == "," and usual is None:
        for column in fractions:
            known = column.drop_nans().drop_nulls()
            thousand = (known * 1000).round(6)
            if len(known) and (thousand % 1 == 0).all() and (thousand % 100 != 0).all() and (known.abs() < 1000).all():
                raise ValueError(
                    f"{column.name!r} has numbers such as {known[0]:g}, and other columns have decimal commas: it "
                    f"could be {known[0]:g} or {thousand[0]:g}; give `decimal` '.' for the first, ',' for the second"
                )
    return mark


def _plain(words: polars.Series, reading: Reading) -> tuple[polars.Series | None, Note | None]:
    """Return a column of plain numbers or truth values, or None if it is neither, and the note on missing words."""
    import polars

    if words.null_count() == len(words):
        return words, None
    if reading.decimal == "," and words.str.contains(".", literal=True).any():
        return None, None
    note = None
    numbers = words.cast(polars.Float64, strict=False)
    if numbers.null_count() > words.null_count():
        known = words.drop_nulls().unique()
        lower = known.str.to_lowercase()
        if lower.is_in(["true", "false"]).all():
            return words.str.to_lowercase() == "true", None
        absent = is_missing(words, among_numbers(reading.missing)).fill_null(False)
        rest = words.set(absent, None)
        numbers = rest.cast(polars.Float64, strict=False)
        if numbers.null_count() > rest.null_count() or rest.null_count() == len(rest):
            return None, None
        note, words = missing_note(words.name, words, absent), rest
    if words.str.contains(_DIGITS).all():
        if words.str.contains(_LEADING_ZERO).any():
            return None, None
        whole = words.cast(polars.Int64, strict=False)
        return (whole, note) if whole.null_count() == words.null_count() else (None, None)
    return numbers, note
