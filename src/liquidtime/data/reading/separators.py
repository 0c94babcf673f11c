"""Find the field separator of a text file, and count the fields of every line."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_CANDIDATES = (",", ";", "\t", "|")
_SAMPLE = 1 << 17
_LINES = 200
_BLOCK = 1 << 25  # number of bytes processed at once, to save memory
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe", " ": "space"}


def find_separator(body: bytes, name: str, usual: str) -> str:
    """Return the character that splits the header and the lines after it into the same number of fields.

    Args:
        body: the file, in UTF-8.
        name: name of the file, for errors.
        usual: separator that the ending of the file, or an earlier table, suggests.

    Raises:
        ValueError: two characters fit equally well.

    """
    text = body[:_SAMPLE].decode("utf-8", "ignore")
    if len(body) > _SAMPLE:
        text = text.rsplit("\n", 1)[0]
    scores: dict[str, tuple[float, int]] = {}
    for mark in (*_CANDIDATES, *(() if usual in _CANDIDATES else (usual,))):
        counts = _counts_of(text, mark)
        if counts and counts[0] > 1:
            like = sum(count in (counts[0], counts[0] + 1) for count in counts) / len(counts)
            scores[mark] = (like, counts[0])
    best = {mark for mark, score in scores.items() if score[0] == max(other[0] for other in scores.values())}
    if usual in best:
        return usual
    if len(best) > 1:
        shown = " and ".join(f"{NAMES.get(mark, mark)} ({scores[mark][1]} fields)" for mark in sorted(best))
        raise ValueError(f"{name!r} could be separated by {shown}; choose one with `separator`")
    if best:
        return best.pop()
    spaces = [len(line.split()) for line in text.splitlines()[:_LINES] if line.strip()]
    return " " if spaces and spaces[0] > 1 and set(spaces) == {spaces[0]} else usual


def _counts_of(text: str, mark: str) -> list[int]:
    """Return the number of fields of the first lines."""
    counts = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=mark):
            if row:
                counts.append(len(row))
            if len(counts) == _LINES:
                break
    except csv.Error:  # a field is longer than the limit of the module
        return [len(line.split(mark)) for line in text.splitlines()[:_LINES] if line]
    return counts


@dataclass(frozen=True)
class Header:
    """The first line of a text file.

    Args:
        names: names of the columns.
        end: position of the first line of data, in bytes.
    """

    names: tuple[str, ...]
    end: int


def read_header(body: bytes, separator: str, name: str) -> Header:
    """Return the names of the columns; blank lines before them are skipped.

    Raises:
        ValueError: the file is empty, a quote is never closed, or two columns have the same name.

    """
    start = len(body) - len(body.lstrip(b"\r\n"))
    if start == len(body):
        raise ValueError(f"{name!r} is empty; it needs a line of column names and rows")
    end = start
    while True:
        found = body.find(b"\n", end)
        end = len(body) if found < 0 else found + 1
        line = body[start:end].decode("utf-8")
        if line.count('"') % 2 == 0:
            break
        if end == len(body):
            raise ValueError(f"{name!r} has a quote in its first line that is never closed")
    fields = next(_split([line], separator))
    names = tuple(field.strip() for field in fields)
    refuse_repeated(names, name)
    return Header(names, end)


def refuse_repeated(names: Iterable[str], name: str) -> None:
    """Refuse a table in which two columns have the same name, as a name would be ambiguous."""
    repeated = [field for field, count in Counter(names).items() if field and count > 1]
    if repeated:
        raise ValueError(f"{name!r} has several columns called {repeated[0]!r}; names must be distinct")


def _split(lines: Any, separator: str) -> Any:
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield from csv.reader(lines, delimiter=separator)
    finally:
        csv.field_size_limit(limit)


def has_quotes(rows: bytes, separator: str) -> bool:
    """Return whether a field begins with a quote; a quote inside a field is an ordinary character."""
    mark = re.escape(separator.encode())
    return b'"' in rows and re.search(rb"(?:^|[\r\n]|" + mark + rb')[ ]*"', rows) is not None


def field_counts(rows: bytes, separator: str, quoted: bool, name: str) -> npt.NDArray[np.int64]:
    """Return (L,) the number of fields of each line of data that is not blank.

    Args:
        rows: the lines, in UTF-8.
        separator: field separator.
        quoted: whether fields may be in quotes.
        name: name of the file, for errors.

    Raises:
        ValueError: a quote is never closed.

    """
    counts = _count_fast(rows, separator, quoted)
    if quoted and (not len(counts) or (counts != counts[0]).any()):  # a quote inside a field is an ordinary character
        lines = _split(io.StringIO(rows.decode("utf-8"), newline=""), separator)
        counts = np.array([len(row) for row in lines if row], dtype=np.int64)
        if rows.count(b'"') % 2:
            raise ValueError(f"{name!r} has a quote that is never closed; write quotes within a field twice")
    return counts


def _count_fast(body: bytes, separator: str, quoted: bool) -> npt.NDArray[np.int64]:
    """Count the separators of each line, except those between quotes."""
    if not quoted and len(body) > _BLOCK:
        parts, start = [], 0
        while start < len(body):
            found = body.find(b"\n", start + _BLOCK)
            end = len(body) if found < 0 else found + 1
            parts.append(_line_counts(body[start:end], separator, False))
            start = end
        return np.concatenate(parts)
    return _line_counts(body, separator, quoted)


def _line_counts(body: bytes, separator: str, quoted: bool) -> npt.NDArray[np.int64]:
    data = np.frombuffer(body if body.endswith(b"\n") else body + b"\n", dtype=np.uint8)
    ends_mask, marks_mask = data == ord("\n"), data == ord(separator)
    if quoted:
        outside = np.bitwise_xor.accumulate((data == ord('"')).view(np.uint8)) == 0
        ends_mask &= outside
        marks_mask &= outside
    ends = np.flatnonzero(ends_mask)
    if not len(ends):
        return np.empty(0, dtype=np.int64)
    per_line = np.diff(np.searchsorted(np.flatnonzero(marks_mask), ends), prepend=0) + 1
    starts = np.concatenate([[0], ends[:-1] + 1])
    blank = (ends == starts) | ((ends - starts == 1) & (data[starts] == ord("\r")))
    return np.asarray(per_line[~blank], dtype=np.int64)
