"""Read times written as text. Their format is detected; what is ambiguous is refused, not guessed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Note
from liquidtime.data.reading.calendar import MONTHS, Clock, full_year, stamps_of, valid_dates
from liquidtime.data.reading.columns import shown
from liquidtime.data.reading.missing_words import among_numbers, is_missing
from liquidtime.times import as_utc

if TYPE_CHECKING:
    import polars

_CLOCK = (
    r"(?:(?:[T ]|,\s*)\s*(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>Z|z|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?)?$"
)
_NUMBERS = r"^(?P<a>\d{4}|\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})[-/.](?P<c>\d{4}|\d{1,2})"
_WEEKDAY = r"^(?:[A-Za-z]{2,9},?\s+)?"
_NAMED = _WEEKDAY + r"(?P<a>\d{4}|\d{1,2})(?P<sep>[-/ ]?)\s*(?P<b>[A-Za-z]{3,9})\.?,?[-/ ]?\s*(?P<c>\d{4}|\d{2})"
_NAMED_FIRST = _WEEKDAY + r"(?P<b>[A-Za-z]{3,9})\.?(?P<sep>[-/ ])\s*(?P<a>\d{1,2}),?[-/ ]\s*(?P<c>\d{4})"
_COMPACT = r"^(?P<a>\d{4})(?P<b>\d{2})(?P<c>\d{2})(?:T(?P<h>\d{2})(?P<min>\d{2})(?P<s>\d{2})?)?(?P<zone>Z)?$"
_PATTERNS = (
    ("numbers", _NUMBERS + _CLOCK),
    ("named", _NAMED + _CLOCK),
    ("named", _NAMED_FIRST + _CLOCK),
    ("compact", _COMPACT),
)
_ORDINARY = re.compile(
    r"^%[dmyYbBe][-/. ]?%[dmbB][-/. ,]{0,2}%[dyYe](?:[ T](?:%H:%M(?::%S(?:\.?%\.?f)?)?|%I:%M(?::%S)? ?%p)(?:%z|Z)?)?$"
)
"""Formats for which only the order of year, month and day must be known."""
_SHOWN = 3
_ORDERS = {"ymd": "year, month, day", "dmy": "day, month, year", "mdy": "month, day, year"}
Order = str
"""Order of year, month and day: "ymd", "dmy" or "mdy"."""


@dataclass(frozen=True, eq=False)
class TimeTexts:
    """The texts of one column as time stamps.

    Args:
        stamps: (R,) datetime64, in UTC if the texts have a time zone; NaT where there is no time.
        formats: format and time zone, as in `SeriesSet.reading`.
        notes: choices that might surprise a reader of the data.
    """

    stamps: npt.NDArray[Any]
    formats: Mapping[str, str]
    notes: tuple[Note, ...]


def read_times(
    words: polars.Series,
    argument: str,
    *,
    time_format: str | None = None,
    usual: Mapping[str, str] | None = None,
    missing: Sequence[float | str] = (),
) -> TimeTexts:
    """Read a column of texts as time stamps.

    Args:
        words: (R,) stripped texts.
        argument: name of the column, for errors.
        time_format: format of the texts; None to detect it.
        usual: formats of an earlier table, which decide what is ambiguous.
        missing: more words for "not known".

    Raises:
        TypeError: texts are not times.
        ValueError: there are several formats, ambiguous or impossible dates, or times with and without a time zone; the
            message has rows and counts.

    """
    rest = words.set(is_missing(words, among_numbers(missing)).fill_null(False), None)
    known = rest.is_not_null().to_numpy()
    if not known.any():
        nothing = np.full(len(known), np.datetime64("NaT"), dtype="datetime64[us]")
        return TimeTexts(nothing, {}, ())
    if time_format is not None and not _ORDINARY.search(time_format):
        return _by_format(rest, known, argument, time_format)
    fields, kind = _fields(rest, known, argument)
    orders = _possible_orders(fields, kind, known)
    order = None if time_format is None else order_of(time_format)
    if order is None:
        order = _choose(orders, fields, known, rest, argument, (usual or {}).get("time_format"))
    elif order not in orders:
        return _by_format(rest, known, argument, str(time_format))
    elif not orders[order][3].all():
        _refuse_rows(f"`{argument}` must be dates of `time_format` {time_format!r}", ~orders[order][3], rest)
    clock = Clock.of(fields)
    impossible = known & ~clock.valid
    if impossible.any():
        _refuse_rows(f"`{argument}` has times of day that do not exist", impossible, rest)
    stamps = stamps_of(orders[order], clock, known)
    zones = _zones(clock, known, rest, argument)
    style = _format(order, fields, kind, clock, known, bool(zones))
    formats = {"time_format": style, "time_zone": "UTC" if zones else "none"}
    notes = []
    if order != "ymd":
        notes.append(Note("kept", f"times were read as {_ORDERS[order]} ({style})", int(known.sum()), len(known)))
    if len(zones) > 1:
        first = tuple(f"{zone} in {count} rows, the first is row {row}" for zone, (count, row) in zones.items())
        notes.append(
            Note("kept", "times had several time zones and were converted to UTC", int(known.sum()), len(known), first)
        )
    return TimeTexts(stamps, formats, tuple(notes))


def _by_format(words: polars.Series, known: npt.NDArray[np.bool_], argument: str, time_format: str) -> TimeTexts:
    """Read texts by an exact format."""
    parsed: dict[str | None, datetime] = {}
    for word in words.drop_nulls().unique():
        with contextlib.suppress(ValueError):
            parsed[word] = datetime.strptime(word, time_format)
    bad = known & ~words.is_in(list(parsed)).fill_null(False).to_numpy()
    if bad.any():
        _refuse_rows(f"`{argument}` must be times of `time_format` {time_format!r}", bad, words)
    zoned = any(stamp.tzinfo is not None for stamp in parsed.values())
    bare = {word: as_utc(stamp) for word, stamp in parsed.items()}
    stamps = np.array([bare.get(word) for word in words], dtype="datetime64[us]")
    note = Note("kept", f"times were read as {time_format}", int(known.sum()), len(known))
    return TimeTexts(stamps, {"time_format": time_format, "time_zone": "UTC" if zoned else "none"}, (note,))


def _fields(words: polars.Series, known: npt.NDArray[np.bool_], argument: str) -> tuple[polars.DataFrame, str]:
    """Return the parts of each text by the one pattern that fits all texts, and the kind of this pattern."""
    import polars

    groups: dict[str, tuple[npt.NDArray[np.int64], polars.DataFrame, str]] = {}
    open_rows = known.copy()
    for kind, pattern in _PATTERNS:
        if not open_rows.any():
            break
        parts = words.str.extract_groups(pattern).struct.unnest()
        fits = parts["a"].is_not_null().to_numpy() & open_rows
        if not fits.any():
            continue
        for name in ("sep", "h", "min", "s", "f", "half", "zone"):
            if name not in parts.columns:
                parts = parts.with_columns(polars.lit(None, dtype=polars.String).alias(name))
        shape = parts.select(
            (
                polars.lit(kind + " ")
                + polars.col("a").str.len_chars().replace_strict({4: "year"}, default="day")
                + polars.col("sep").fill_null("")
                + polars.col("c").str.len_chars().replace_strict({4: "year"}, default="short")
            ).alias("shape")
        )["shape"]
        if kind == "numbers":
            same = words.str.contains(r"^\d+-\d+-|^\d+/\d+/|^\d+\.\d+\.").to_numpy()
            fits &= same.astype(bool)
        for name in shape.filter(fits.tolist()).unique(maintain_order=True):
            rows = np.flatnonzero(fits & (shape == name).fill_null(False).to_numpy())
            groups[name] = (rows, parts, kind)
        open_rows &= ~fits
    if open_rows.any():
        row = int(np.argmax(open_rows))
        hint = "Write ISO 8601 (2024-03-31 06:15:00), or give their format with `time_format`."
        text = words[row]
        if text is not None and ":" in text and "-" not in text and "/" not in text:
            hint = "A time of day needs its date: put both into one column."
        raise TypeError(
            f"`{argument}` must be numbers or time stamps; {int(open_rows.sum())} of {len(known)} are text. The first "
            f"is {shown(text)} in row {row}. {hint}"
        )
    if len(groups) > 1:
        words_of = [
            f"{len(rows)} rows like {shown(words[int(rows[0])])}, the first is row {int(rows[0])}"
            for rows, _, _ in sorted(groups.values(), key=lambda group: int(group[0][0]))[:_SHOWN]
        ]
        raise ValueError(
            f"`{argument}` must have one format; it has {len(groups)}: {'; '.join(words_of)}. Write all in one."
        )
    _, parts, kind = next(iter(groups.values()))
    return parts, kind


def _possible_orders(
    fields: polars.DataFrame, kind: str, known: npt.NDArray[np.bool_]
) -> dict[Order, tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.bool_]]]:
    """Return year, month, day and validity of each row for every order that the texts allow."""
    import polars

    a = fields["a"].cast(polars.Int64).fill_null(1).to_numpy()
    c = fields["c"].cast(polars.Int64).fill_null(1).to_numpy()
    lengths = fields["a"].str.len_chars().max(), fields["c"].str.len_chars().max()
    if kind == "named":
        b = fields["b"].str.slice(0, 3).str.to_lowercase().replace_strict(MONTHS, default=0).fill_null(1).to_numpy()
    else:
        b = fields["b"].cast(polars.Int64).fill_null(1).to_numpy()
    if lengths[0] == 4:
        candidates = {"ymd": (a, b, c)}
    elif kind == "named":
        candidates = {"dmy": (c, b, a)} | ({} if lengths[1] == 4 else {"ymd": (a, b, c)})
    else:
        candidates = {"dmy": (c, b, a), "mdy": (c, a, b)} | ({} if lengths[1] == 4 else {"ymd": (a, b, c)})
    orders = {}
    for order, (year, month, day) in candidates.items():
        short = lengths[0 if order == "ymd" else 1] != 4
        year = full_year(year) if short else year
        orders[order] = (year, month, day, valid_dates(year, month, day) | ~known)
    return orders


def _choose(
    orders: Mapping[Order, Any],
    fields: polars.DataFrame,
    known: npt.NDArray[np.bool_],
    words: polars.Series,
    argument: str,
    usual: str | None,
) -> Order:
    """Return the only order in which every row is a date; refuse the texts if there is none or more than one."""
    possible = [order for order in orders if orders[order][3].all()]
    if len(possible) == 1:
        return possible[0]
    if not possible:
        _refuse_impossible(orders, known, words, argument)
    if possible == ["dmy", "mdy"] and fields["sep"].drop_nulls().head(1).to_list() == ["."]:
        return "dmy"  # dates with dots, such as 1.2.2024, are always written day first
    differ = np.zeros(len(known), dtype=bool)
    for order in possible[1:]:
        for mine, other in zip(orders[order][:3], orders[possible[0]][:3], strict=True):
            differ |= known & (mine != other)
    expected = order_of(usual) if usual else None
    if not differ.any() or expected in possible:
        return expected if expected in possible else possible[0]
    row = int(np.argmax(differ))
    clock = Clock.of(fields)
    readings = []
    for order in possible:
        year, month, day, _ = orders[order]
        style = _format(
            order, fields, "numbers" if fields["b"][row].isdigit() else "named", clock, known, clock.has_zone
        )
        readings.append(f"{year[row]:04}-{month[row]:02}-{day[row]:02} (`time_format` {style!r})")
    raise ValueError(
        f"`{argument}` has dates with {len(possible)} readings: {shown(words[row])} in row {row} could be "
        f"{' or '.join(readings)}; {int(differ.sum())} of {len(known)} rows are ambiguous like this, and no row "
        "decides. "
        "Choose one with `time_format`."
    )


def _refuse_impossible(
    orders: Mapping[Order, Any], known: npt.NDArray[np.bool_], words: polars.Series, argument: str
) -> None:
    never = known & ~np.any([valid for *_, valid in orders.values()], axis=0)
    if never.any():
        _refuse_rows(f"`{argument}` has dates that do not exist", never, words)
    parts = []
    for order, (*_, valid) in orders.items():
        only = known & valid & ~np.any([other[3] for name, other in orders.items() if name != order], axis=0)
        if only.any():
            row = int(np.argmax(only))
            parts.append(f"{int(only.sum())} rows can only be {_ORDERS[order]} ({shown(words[row])} in row {row})")
    raise ValueError(f"`{argument}` must have one format; {' and '.join(parts)}. Write all in one.")


def _refuse_rows(what: str, bad: npt.NDArray[np.bool_], words: polars.Series) -> None:
    rows = np.flatnonzero(bad)
    first = ", ".join(f"{shown(words[int(row)])} in row {row}" for row in rows[:_SHOWN]) + (
        ", …" if len(rows) > _SHOWN else ""
    )
    raise ValueError(f"{what}: {len(rows)} of {len(bad)}. The first: {first}. Correct them, or leave those rows out.")


def _zones(
    clock: Clock, known: npt.NDArray[np.bool_], words: polars.Series, argument: str
) -> dict[str, tuple[int, int]]:
    """Return the time zones, each with its number of rows and first row; refuse a mixture with rows without one."""
    without = known & ~clock.zoned
    if not clock.has_zone:
        return {}
    if without.any():
        row, other = int(np.argmax(without)), int(np.argmax(clock.zoned))
        raise ValueError(
            f"`{argument}` must have a time zone in all rows or in none; {int(without.sum())} of {len(known)} have "
            f"none, such as {shown(words[row])} in row {row}, and {int(clock.zoned.sum())} have one, such as "
            f"{shown(words[other])} in row {other}. Write it in all."
        )
    zones: dict[str, tuple[int, int]] = {}
    for minutes in np.unique(clock.offset[known]).tolist():
        rows = np.flatnonzero(known & (clock.offset == minutes))
        sign = "-" if minutes < 0 else "+"
        zones[f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"] = (len(rows), int(rows[0]))
    return zones


def _format(
    order: Order, fields: polars.DataFrame, kind: str, clock: Clock, known: npt.NDArray[np.bool_], zoned: bool
) -> str:
    """Return the format in the form of `time_format`."""
    row = int(np.argmax(known))
    first = fields.row(row, named=True)
    long_year = len(first["a"] if order == "ymd" else first["c"]) == 4
    letters = {"y": "%Y" if long_year else "%y", "m": "%b" if kind == "named" else "%m", "d": "%d"}
    separator = first["sep"] or ("" if kind == "compact" else " ")
    text = separator.join(letters[letter] for letter in order)
    if clock.has_time:
        hour = "%I:%M" if clock.halves else "%H:%M"
        text += " " + hour + (":%S" if clock.has_seconds else "") + (" %p" if clock.halves else "")
    return text + ("%z" if zoned else "")


def order_of(time_format: str) -> Order | None:
    """Return the order of year, month and day in a format; None if one of them is missing."""
    letters = {"%Y": "y", "%y": "y", "%m": "m", "%b": "m", "%B": "m", "%d": "d", "%e": "d"}
    places = {letters[code]: time_format.find(code) for code in letters if code in time_format}
    order = "".join(sorted(places, key=lambda letter: places[letter]))
    return order if order in _ORDERS else None
