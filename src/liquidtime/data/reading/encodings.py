"""Convert text files to UTF-8. The encoding is known or given by the caller, or the error names the likely one."""

from __future__ import annotations

import codecs
import gzip
import zlib

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FILES = (
    (b"PK\x03\x04", "a zip archive or a spreadsheet (.xlsx)"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file (.xls)"),
    (b"SQLite format 3", "an SQLite database"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ", "compressed with xz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
)


def decompressed(raw: bytes, name: str) -> bytes:
    """Return the contents of a file that may be compressed with gzip; refuse a damaged file."""
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{name!r} cannot be read: its gzip compression is damaged ({error})") from None


def as_utf8(raw: bytes, name: str, encoding: str | None) -> tuple[bytes, str]:
    """Return the text of a file in UTF-8, and its original encoding.

    Args:
        raw: the bytes of the file.
        name: name of the file, for errors.
        encoding: encoding from the caller; None for that of the byte order mark, or UTF-8 without one.

    Raises:
        ValueError: the encoding is wrong, there are NUL bytes, or it is not text; the likely encoding is named.

    """
    for mark, kind in _OTHER_FILES:
        if raw.startswith(mark):
            raise ValueError(f"{name!r} is {kind}, not a text file; rename it with the ending of its format")
    marked = next(((mark, kind) for mark, kind in _MARKS if raw.startswith(mark)), None)
    if encoding is not None:
        text = _decoded(raw, name, encoding)
        return _without_nul(text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"), name), encoding
    if marked is not None and marked[1] != "utf-8":
        return _without_nul(_decoded(raw, name, marked[1]).encode("utf-8"), name), marked[1]
    body = raw.removeprefix(codecs.BOM_UTF8)
    if b"\x00" in body[:4096]:
        even, odd = body[:4096:2].count(0), body[1:4096:2].count(0)
        for kind, most, least in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
            if least == 0 and most > len(body[:4096]) // 4:
                raise ValueError(f"{name!r} is not UTF-8; it looks like {kind}. Pass `encoding` {kind!r}.")
    _without_nul(body, name)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(_named(body, name, error)) from None
    return body, "utf-8"


def _decoded(raw: bytes, name: str, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except LookupError:
        raise ValueError(
            f"`encoding` must be one that Python knows, such as 'cp1252' or 'utf-16'; got {encoding!r}"
        ) from None
    except UnicodeError as error:
        raise ValueError(f"{name!r} cannot be read with `encoding` {encoding!r}: {error}") from None


def _without_nul(body: bytes, name: str) -> bytes:
    place = body.find(b"\x00")
    if place >= 0:
        line = body.count(b"\n", 0, place) + 1
        raise ValueError(f"{name!r} is not a text file, or it is damaged: it has NUL bytes, the first in line {line}")
    return body


def _named(body: bytes, name: str, error: UnicodeDecodeError) -> str:
    """Return a message that names the likely encoding and shows how the first odd word reads in it."""
    line = body.count(b"\n", 0, error.start) + 1
    start = max(body.rfind(mark, 0, error.start) for mark in (b"\n", b",", b";", b"\t", b"|", b" ", b'"')) + 1
    word = body[start : error.start + 12].split(b"\n")[0]
    for mark in (b",", b";", b"\t", b"|", b'"'):
        word = word.split(mark)[0]
    place = f"{name!r} is not UTF-8: byte 0x{body[error.start]:02x} in line {line}"
    try:
        reading = word.decode("cp1252")
    except UnicodeDecodeError:
        return f"{place}. Give its encoding with `encoding`, such as 'latin-1' or 'shift_jis'."
    likely = f"It looks like cp1252 (Western European), in which that reads {reading!r}"
    return f"{place}. {likely}; pass `encoding` 'cp1252'."
