"""Read text files with one row per line, such as CSV, with any field separator and decimal mark."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from liquidtime.data.container import Note, first_words
from liquidtime.data.reading.column_types import typed_columns
from liquidtime.data.reading.encodings import as_utf8, decompressed
from liquidtime.data.reading.options import Reading
from liquidtime.data.reading.separators import NAMES, field_counts, find_separator, has_quotes, read_header

if TYPE_CHECKING:
    import polars

_SEP_LINE = re.compile(rb'^"?sep=(.)"?\r?\n', re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class TextTable:
    """The contents of a text file.

    Args:
        frame: the columns; numbers if all of their fields are, otherwise texts.
        formats: separator, decimal mark and encoding.
        notes: detected formats that are unusual, and repairs.
    """

    frame: polars.DataFrame
    formats: Mapping[str, str]
    notes: tuple[Note, ...]


def read_text(raw: bytes, name: str, usual_separator: str, reading: Reading) -> TextTable:
    """Read the bytes of a text file.

    Args:
        raw: bytes of the file, which may be compressed with gzip.
        name: name of the file, for notes and errors.
        usual_separator: separator of files with its ending.
        reading: options of the caller.

    Raises:
        ValueError: it is not a table, or it is ambiguous.

    """
    import polars

    body, encoding = as_utf8(decompressed(raw, name), name, reading.encoding)
    if b"\r" in body and b"\n" not in body:
        body = body.replace(b"\r", b"\n")
    notes: list[Note] = []
    separator, hint = reading.separator, reading.expected("separator") or usual_separator
    named = _SEP_LINE.match(body)
    if named:  # a line in which spreadsheets name the separator
        body, hint = body[named.end() :], named[1].decode()
    if not body.strip():
        raise ValueError(f"{name!r} is empty; it needs a line of column names and rows")
    separator = separator or find_separator(body, name, hint)
    if separator == " ":
        body, inner = _spaces_to_tabs(body), "\t"
    else:
        inner = separator
    header = read_header(body, inner, name)
    names, rows = list(header.names), body[header.end :]
    quoted = has_quotes(rows, inner)
    counts = field_counts(rows, inner, quoted, name)
    if not len(counts):
        raise ValueError(f"{name!r} has a line of column names and no rows; the names are {', '.join(names[:20])}")
    names, rows = _fit_names(names, rows, counts, inner, name)
    short = np.flatnonzero(counts < len(header.names))
    first = first_words(f"line {row + 2} has {counts[row]} of {len(header.names)}" for row in short)
    if len(short):
        what = f"lines of {name!r} have too few fields; the missing ones are empty"
        notes.append(Note("repaired", what, len(short), len(counts), first))
    try:
        numbered = inner.join(str(place) for place in range(len(names))).encode() + b"\n"
        frame = polars.read_csv(
            io.BytesIO(numbered + rows), separator=inner, quote_char='"' if quoted else None, infer_schema=False
        )
    except polars.exceptions.PolarsError as error:
        raise ValueError(f"{name!r} cannot be read as a text file: {str(error).splitlines()[0]}") from None
    frame.columns = [column or f"{_NAMELESS}{place}" for place, column in enumerate(names)]
    if len(frame) > len(counts):
        frame = frame.filter(~polars.all_horizontal(polars.all().is_null()))  # blank lines
    frame = _name_nameless(frame, name)
    frame, decimal, more = typed_columns(frame, reading)
    if separator != usual_separator and reading.separator is None:
        notes.append(
            Note(
                "kept",
                f"lines of {name!r} are separated by {NAMES.get(separator, separator)}",
                len(counts),
                len(counts),
            )
        )
    if encoding not in ("utf-8", reading.encoding):
        notes.append(Note("kept", f"lines of {name!r} are encoded in {encoding}", len(counts), len(counts)))
    return TextTable(frame, {"separator": separator, "decimal": decimal, "encoding": encoding}, (*notes, *more))


_NAMELESS = "\x00nameless "


def _name_nameless(frame: polars.DataFrame, name: str) -> polars.DataFrame:
    """Leave out empty columns without a name, which come from separators at the ends of lines; another is called ''."""
    nameless = [column for column in frame.columns if column.startswith(_NAMELESS)]
    frame = frame.drop([column for column in nameless if frame[column].null_count() == len(frame)])
    rest = [column for column in nameless if column in frame.columns]
    if len(rest) > 1:
        raise ValueError(f"{name!r} has {len(rest)} columns without a name; add their names to the first line")
    return frame.rename({rest[0]: ""}) if rest else frame


def _spaces_to_tabs(body: bytes) -> bytes:
    return b"\n".join(re.sub(rb"[ \t]+", b"\t", line.strip()) for line in body.splitlines())


def _fit_names(names: list[str], rows: bytes, counts: np.ndarray, separator: str, name: str) -> tuple[list[str], bytes]:
    """Return the names, plus one if every line has one field more than the header; refuse other long lines."""
    long = np.flatnonzero(counts > len(names))
    if not len(long):
        return names, rows
    trailing = rf"{re.escape(separator)}\r?$".encode()
    ends = all(re.search(trailing, line) for line in rows.splitlines() if line)
    if ends and "" not in names and (counts == len(names) + 1).all():
        return [*names, ""], rows
    row = int(long[0])
    where = f"{len(long)} of {len(counts)} lines have more, the first is line {row + 2} with {counts[row]}"
    hint = (
        "If the first field names the row, give its column a name; decimal commas need another separator."
        if (counts == len(names) + 1).all()
        else f"Put texts that contain {separator!r} into quotes, or give another `separator`."
    )
    raise ValueError(
        f"{name!r} has {len(names)} column names and must have that many fields in every line; {where}. {hint}"
    )
