"""Shared by the readers of frames: the series of each row, and the note on repeated values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Findings, Note, first_words
from liquidtime.data.reading.assemble import Repeats, Steps
from liquidtime.data.reading.columns import Frame, factorise
from liquidtime.data.reading.static_features import positions


def is_names(static: Any) -> bool:
    """Return whether an argument is a sequence of names rather than a table."""
    if isinstance(static, list | tuple) and all(isinstance(name, str) for name in static):
        return True
    if isinstance(static, list | tuple):
        raise TypeError(f"`static` must be names or a table; got {static!r}")
    return False


def find_series(
    table: Frame, id: str, wanted: Any, findings: Findings
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any], Frame]:
    """Number the series of a table.

    Args:
        table: the rows.
        id: the id column, without nulls.
        wanted: ids of the series to keep, in order; None for all, in sorted order.

    Returns:
        (R,) the series of each row, (S,) the ids, and the table without the rows of other series.
    """
    column = table[id]
    empty = column.is_null().to_numpy() | (column.is_nan().to_numpy() if column.dtype.is_float() else False)
    if empty.any():
        raise ValueError(
            f"`id` must be present in every row; {int(empty.sum())} of {len(empty)} rows have none, the first is row "
            f"{int(np.argmax(empty))}. Drop those rows or fill in their ids."
        )
    codes, labels = factorise(column)
    if wanted is None:
        return codes, labels, table
    ids = np.asarray(wanted.to_numpy() if hasattr(wanted, "to_numpy") else wanted)
    if ids.dtype.kind == "O":
        ids = ids.astype(np.str_)
    if ids.ndim != 1 or len(np.unique(ids)) != len(ids):
        raise ValueError(f"`ids` must be distinct ids of shape (S,); got {len(ids)} of shape {ids.shape}")
    series = positions(labels, ids).astype(np.int32)
    if (series < 0).all():
        raise ValueError(
            f"`ids` must name series of the frame; none of {len(ids)} is there. The ids of the frame begin with "
            f"{', '.join(map(str, labels[:3]))}; the requested ids with {', '.join(map(str, ids[:3]))}."
        )
    codes = series[codes]
    known = codes >= 0
    if not known.all():
        first = first_words(f"id {name}" for name in labels[series < 0])
        findings.add(Note("dropped", "rows of series that `ids` does not name", int((~known).sum()), len(known), first))
        table = table.filter(known.tolist())
        codes = codes[known]
    return codes, ids, table


def note_repeats(
    findings: Findings, steps: Steps, repeats: Repeats, names: Sequence[str], ids: npt.NDArray[Any], of: int
) -> None:
    """Add a note about several values of one channel at one time.

    Args:
        repeats: rows in the order of the steps.
        names: the channels of the first repeats.
        of: total number of values.
    """
    examples = []
    for row, name in zip(repeats.rows[:3], names[:3], strict=True):
        step = steps.step[row]
        code = int(np.searchsorted(steps.offsets, step, side="right")) - 1
        examples.append(f"{name} in series {ids[code]} at position {step - steps.offsets[code]}")
    what = "values share their channel and time with others; averaged (of categories, the last was kept)"
    findings.add(Note("repaired", what, repeats.count, of, (*examples, "…") if repeats.count > 3 else tuple(examples)))
