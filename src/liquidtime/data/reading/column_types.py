"""Columns of a text file: numbers where every field is one, truth values, else texts as they stand."""

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
    """Give the columns of texts their types.

    Whole numbers with leading zeros stay texts (007 is the name of somebody), and so do those beyond 64 bits, dates
    and words. The decimal mark is that of the whole file.

    Args:
        frame: columns of texts.
        reading: `decimal`, `missing` and `usual` are read.

    Returns:
        The frame, its decimal mark, and the notes.

    Raises:
        ValueError: numbers with both decimal marks, or 1,234 which could be read in two ways.

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
        notes.insert(0, Note("kept", "columns with decimal commas", len(waiting), len(columns), tuple(waiting)[:3]))
    return frame.with_columns(columns), mark or ".", notes


def _is_name(words: polars.Series) -> bool:
    """Whether digits are a name rather than a number: they begin with 0, or are too many."""
    return bool(words.str.contains(_DIGITS).all())


def _decimal_of(columns: list[polars.Series], waiting: dict[str, polars.Series], usual: str | None) -> str | None:
    """Return the decimal mark of a file.

    Args:
        columns: all columns; those of numbers are written with points, if with any mark.
        waiting: those that may be written with commas.
        usual: of an earlier table.

    Raises:
        ValueError: a column such as 1.234 beside one with decimal commas could be thousands.

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
    """Return a column of ordinary numbers or truth values, None for any other, and the note on missing words."""
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
