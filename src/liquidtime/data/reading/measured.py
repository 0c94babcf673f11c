"""Read columns of measured values: numbers, numbers written as text, and categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars

from liquidtime.data.container import Findings, Note, first_places
from liquidtime.data.reading.columns import Column, is_number, is_text, numbers, shown, texts
from liquidtime.data.reading.missing_words import among_names, is_missing, missing_note
from liquidtime.data.reading.number_texts import read_numbers, stripped
from liquidtime.data.reading.options import Reading

_WITH_UNIT = r"^[<>≤≥~]?\s*[-+−]?[\d.,]*\d\s*[^\d\s.,;:/-][^\d]{0,11}$"
"""A number with a unit after it, such as 37,2 C or 97%."""


class Measured:
    """Reads value columns of one frame; knows the series of each row, which errors and notes name.

    Args:
        codes: (R,) the series of each row.
        ids: (S,) the ids.
        findings: collects notes, or refuses the data.
        reading: options, of which `missing` and `decimal` are used.
    """

    def __init__(
        self,
        codes: npt.NDArray[Any],
        ids: npt.NDArray[Any],
        findings: Findings,
        reading: Reading | None = None,
    ) -> None:
        self.codes, self.ids, self.findings = codes, ids, findings
        self.reading = reading or Reading()
        self.missing = tuple(number for number in self.reading.missing if isinstance(number, float))

    def read(self, column: Column, rows: npt.NDArray[np.bool_] | None = None) -> npt.NDArray[np.float32]:
        """Return a column as (R,) float32; NaN where nothing is observed.

        Args:
            column: numbers, truth values, or text that can be read as numbers, which adds a note.
            rows: (R,) True where the column must be a number; elsewhere the result is NaN.

        Raises:
            ValueError: a text is not a number, or a value is infinite; the message counts them and names the first.

        """
        if is_number(column):
            return self.narrow(column.name, numbers(column))
        if not is_text(column):
            raise TypeError(f"`{column.name}` must be numbers; the column is {column.dtype}")
        words = stripped(texts(column))
        wanted = words if rows is None else words.set(polars.Series(~rows), None)
        result = read_numbers(column.name, wanted, self.reading.decimal, self.reading.missing)
        parsed, bad = result.values.to_numpy(), result.bad.to_numpy()
        if bad.any():
            offenders = first_places(bad, self.codes, self.ids, lambda row: shown(words[row]))
            raise ValueError(
                f"`{column.name}` must be numbers; {int(bad.sum())} of {len(bad)} values are not. The first: "
                f"{', '.join(offenders)}. {_advice(words.filter(result.bad))}"
            )
        for note in result.notes:
            self.findings.add(note)
        if rows is None:
            what = f"values of {column.name!r} were text and were read as numbers"
            self.findings.add(Note("repaired", what, int((~np.isnan(parsed)).sum()), len(parsed)))
        return self.narrow(column.name, parsed)

    def narrow(self, name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return (R,) numbers as float32; refuse infinite ones; `missing` ones become NaN."""
        with np.errstate(over="ignore"):
            narrow: npt.NDArray[np.float32] = values.astype(np.float32)
        bad = np.isinf(narrow)
        if bad.any():
            offenders = first_places(bad, self.codes, self.ids, lambda row: str(values[row]))
            raise ValueError(
                f"`{name}` must be finite in float32; {int(bad.sum())} of {len(bad)} values are not. The first: "
                f"{', '.join(offenders)}. Leave those cells empty if nothing was observed."
            )
        for number in self.missing:
            narrow[narrow == np.float32(number)] = np.nan
        return narrow

    def categories(self, name: str, words: Sequence[str | None]) -> tuple[npt.NDArray[np.float32], tuple[str, ...]]:
        """Number categories in the order of their names; None, empty and `missing` ones become NaN."""
        bare = stripped(words)
        absent = is_missing(bare, among_names(set(bare.drop_nulls().unique()), self.reading.missing)).fill_null(False)
        if absent.any():
            self.findings.add(missing_note(name, bare, absent))
        unknown = {None, *(str(int(n)) if n.is_integer() else str(n) for n in self.missing)}
        words = bare.set(absent, None).to_list()
        labels = sorted({word for word in words if word is not None} - unknown)
        codes: dict[str | None, float] = {label: float(code) for code, label in enumerate(labels)}
        return np.array([codes.get(word, np.nan) for word in words], dtype=np.float32), tuple(labels)


def _advice(words: polars.Series) -> str:
    """Return advice about texts that are not numbers: numbers with a unit, and words."""
    has_unit = words.str.contains(_WITH_UNIT)
    advice = []
    if has_unit.any():
        count, first = int(has_unit.sum()), shown(words.filter(has_unit)[0])
        advice.append(f"{count:,} look like numbers with a unit, such as {first}: remove the unit.")
    names = words.filter(~has_unit)
    if len(names):
        counts = names.value_counts(sort=True, name="count")
        frequent = ", ".join(f"{shown(word)} ({times:,})" for word, times in counts.head(3).iter_rows())
        advice.append(
            f"{len(names):,} are words, most often {frequent}: list them in `missing` if they mean that nothing was "
            "observed, name the column in `categorical` if they are categories, or correct them."
        )
    return " ".join(advice)


def first_known(values: npt.NDArray[Any], codes: npt.NDArray[Any], S: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return (S,) the first known value of each series, NaN if there is none, and (R,) True where a later one differs.

    Args:
        values: (R,) values, NaN = not known.
        codes: (R,) the series of each row.
    """
    known = np.flatnonzero(~np.isnan(values))
    result = np.full(S, np.nan, dtype=np.float32)
    result[codes[known][::-1]] = values[known][::-1]  # the first row is written last
    differs = np.zeros(len(values), dtype=bool)
    differs[known] = values[known] != result[codes[known]]
    return result, differs
