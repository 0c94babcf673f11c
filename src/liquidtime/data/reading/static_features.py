"""Read features that do not change within a series: columns of the frame, channels, or a separate table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Findings, Note, first_places, first_words
from liquidtime.data.reading.columns import Column, check_column, factorise, texts
from liquidtime.data.reading.measured import Measured, first_known
from liquidtime.data.reading.opening import add_all, open_table
from liquidtime.data.reading.options import Reading


@dataclass
class StaticFeatures:
    """The static features read so far, column by column.

    Args:
        S: number of series.
        findings: collects notes, or refuses the data.
    """

    S: int
    findings: Findings
    names: list[str] = field(default_factory=list)
    columns: list[npt.NDArray[np.float32]] = field(default_factory=list)
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, name: str, values: npt.NDArray[np.float32], measured: Measured, labels: Sequence[str] | None) -> None:
        """Add a feature with the first known value of each series, and a note if later values differ.

        Args:
            name: name of the feature.
            values: (R,) one value per row.
            measured: reader that knows the series of each row.
            labels: the categories, if it is categorical.
        """
        column, differs = first_known(values, measured.codes, self.S)
        offenders = first_places(differs, measured.codes, measured.ids)
        what = f"values of the static {name!r} differ from the first of their series, which is kept"
        self.findings.add(Note("repaired", what, int(differs.sum()), len(differs), offenders))
        self.names.append(name)
        self.columns.append(column)
        if labels is not None:
            self.categories[name] = tuple(labels)

    def add_column(self, column: Column, measured: Measured, categorical: bool) -> None:
        """Add a column of a frame with one value per row."""
        if categorical:
            values, labels = measured.categories(column.name, texts(column))
            self.add(column.name, values, measured, labels)
        else:
            self.add(column.name, measured.read(column), measured, None)

    def matrix(self) -> npt.NDArray[np.float32]:
        """Return (S, F) the features of all series."""
        return np.stack(self.columns, axis=1) if self.columns else np.empty((self.S, 0), dtype=np.float32)

    def add_table(
        self,
        table: Any,
        id: str,
        ids: npt.NDArray[Any],
        categorical: Collection[str],
        reading: Reading,
        leave: Collection[str] = (),
    ) -> None:
        """Add all columns of a table with one row per series; rows without a series are left out, with a note.

        Args:
            table: any data frame, or the path of a file.
            id: id column of the table.
            ids: (S,) ids of the series.
            categorical: names of features that are categories.
            reading: options for the table of measurements, which are hints for this table.
            leave: columns that are not features, such as the target.

        Raises:
            ValueError: no id is in both tables, or a feature has the name of a channel.

        """
        opened = open_table("static_table", table, reading.hints())
        add_all(self.findings, opened.notes)
        frame = opened.frame
        check_column(frame, "static_id", id)
        codes, labels = factorise(frame[id])
        series = positions(labels, ids)  # -1 for an id without a series
        known = series[codes] >= 0
        others = labels[series < 0]
        if not known.any():
            raise ValueError(
                f"`static_table` must share ids with the series; none of {len(labels)} does. The ids of the series "
                "begin with "
                f"{', '.join(map(str, ids[:3]))}; those of the table with {', '.join(map(str, labels[:3]))}."
            )
        what = "rows of the static table without a series"
        first = first_words(f"id {name}" for name in others)
        self.findings.add(Note("dropped", what, int((~known).sum()), len(known), first))
        known_rows = frame.filter(known.tolist())
        measured = Measured(series[codes][known], ids, self.findings, reading.hints())
        without = np.setdiff1d(np.arange(self.S), series[codes][known])
        first = first_words(f"series {ids[row]}" for row in without)
        self.findings.add(Note("kept", "series have no row in the static table", len(without), self.S, first))
        left = [name for name in opened.channels({id}, self.findings) if name in leave]
        what = "columns of the static table are not static features but a target, a group or similar"
        self.findings.add(Note("kept", what, len(left), len(frame.columns), tuple(repr(name) for name in left)))
        for name in opened.channels({id, *leave}, Findings()):
            self.add_column(known_rows[name], measured, name in categorical)


def positions(wanted: npt.NDArray[Any], ids: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return (K,) the position of each wanted id in `ids`, or -1; 7 and "7" are the same id."""
    if wanted.dtype.kind != ids.dtype.kind:
        wanted, ids = wanted.astype(np.str_), ids.astype(np.str_)
    position_of = {name: position for position, name in enumerate(ids.tolist())}
    return np.array([position_of.get(name, -1) for name in wanted.tolist()], dtype=np.int64)
