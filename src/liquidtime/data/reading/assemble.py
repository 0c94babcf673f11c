"""Sort rows in any order into series, with one step for each distinct time of a series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Findings, Note, Ticks, first_places, unknown

_BLOCK = 2**18  # number of rows processed at once, to save memory


@dataclass(frozen=True)
class Steps:
    """The assignment of the rows of a frame to the samples of a set.

    Args:
        order: (R,) the rows sorted by series and time; None if they are in that order.
        step: (R,) sample of each row in that order.
        offsets: (S + 1,) start of the samples of each series.
        ticks: (N,) time of each sample.
    """

    order: npt.NDArray[np.integer[Any]] | None
    step: npt.NDArray[np.integer[Any]]
    offsets: npt.NDArray[np.int64]
    ticks: Ticks

    def sort(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a column of the frame in the order of the steps."""
        return column if self.order is None else column[self.order]

    @property
    def merged(self) -> bool:
        """Whether several rows share a sample."""
        return len(self.step) > len(self.ticks.values)


def refuse_unknown_times(ticks: Ticks, codes: npt.NDArray[Any], ids: npt.NDArray[Any]) -> None:
    """Refuse NaN, NaT and infinite times; the message names the first by series and position."""
    bad = unknown(ticks)
    if bad.any():
        kind = "NaT" if ticks.kind == "stamp" else ""
        offenders = first_places(bad, codes, ids, lambda row: kind or str(ticks.values[row]))
        raise ValueError(
            f"`time` must be finite; {int(bad.sum())} of {len(bad)} are not. The first: {', '.join(offenders)}. "
            "Drop those rows or fill in their times."
        )


def find_steps(codes: npt.NDArray[Any], ticks: Ticks, ids: npt.NDArray[Any], findings: Findings) -> Steps:
    """Sort rows by series and time, add a note if times were out of order, and number the distinct times.

    Args:
        codes: (R,) series of each row, 0…S - 1.
        ticks: (R,) finite time of each row.
        ids: (S,) ids of the series.
        findings: collects the note, or refuses the data.
    """
    narrow: Any = np.int32 if len(codes) < 2**31 else np.int64
    order: npt.NDArray[Any] | None = None
    if (codes[1:] < codes[:-1]).any():
        order = np.argsort(codes, kind="stable").astype(narrow)
    if _note_disorder(codes, ticks, order, ids, findings):
        order = None  # it is large, and so is the next one
        order = np.lexsort((ticks.values, codes)).astype(narrow)
    new = np.ones(len(codes), dtype=bool)
    new[1:] = False
    for column in (codes, ticks.values):
        arranged = column if order is None else column[order]
        new[1:] |= arranged[1:] != arranged[:-1]
        del arranged
    starts = np.flatnonzero(new)
    first = starts if order is None else order[starts]  # (N,) a row of each step
    lengths = np.bincount(codes[first], minlength=len(ids))
    step: npt.NDArray[Any] = np.cumsum(new, dtype=narrow)
    step -= 1
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Steps(order, step, offsets, ticks.rows(first))


def _note_disorder(
    codes: npt.NDArray[Any], ticks: Ticks, order: npt.NDArray[Any] | None, ids: npt.NDArray[Any], findings: Findings
) -> bool:
    """Return whether times decrease within a series, and note where; in `order`, the rows of a series are together."""
    if order is not None:
        codes, ticks = codes[order], ticks.rows(order)
    back = np.zeros(len(codes), dtype=bool)
    back[1:] = (codes[1:] == codes[:-1]) & (ticks.values[1:] < ticks.values[:-1])
    if not back.any():
        return False
    offenders = first_places(back, codes, ids)
    what = "times were earlier than in the row before; sorted"
    findings.add(Note("repaired", what, int(back.sum()), len(back), offenders))
    return True


@dataclass(frozen=True)
class Repeats:
    """Values of a channel at a time that has several: how many besides the last one, and in which rows."""

    count: int
    rows: npt.NDArray[np.int64]


def scatter(
    steps: Steps,
    channel: npt.NDArray[np.integer[Any]],
    values: npt.NDArray[np.float32],
    C: int,
    categorical: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.float32], Repeats]:
    """Put measurements into their cells; several in one cell are averaged, or, if categorical, the last is used.

    To find rows that share a cell, row numbers are written into the cells, in the memory of the result, and read again:
    a row whose number has been overwritten shares its cell.

    Args:
        channel: (R,) channel of each row, in the order of the steps.
        values: (R,) finite values, in the same order.
        C: number of channels.
        categorical: (C,) whether a channel is categorical.

    Returns:
        (N, C) values, NaN if there is none, and the repeats.
    """
    N, R = len(steps.ticks.values), len(values)
    result = np.empty(N * C, dtype=np.float32)
    owner = result.view(np.int32) if R < 2**31 else np.empty(N * C, dtype=np.int64)
    blocks = [slice(low, min(low + _BLOCK, R)) for low in range(0, R, _BLOCK)]

    def cells(rows: Any) -> npt.NDArray[np.int64]:
        cell: npt.NDArray[np.int64] = steps.step[rows].astype(np.int64)
        cell *= C
        cell += channel[rows]
        return cell

    for block in blocks:
        owner[cells(block)] = np.arange(block.start, block.stop, dtype=owner.dtype)
    lost = [block.start + np.flatnonzero(owner[cells(block)] != np.arange(block.start, block.stop)) for block in blocks]
    losers = np.concatenate(lost) if lost else np.empty(0, dtype=np.int64)
    shared, group = np.unique(cells(losers), return_inverse=True)
    winners = owner[shared].astype(np.int64)
    result.fill(np.nan)
    for block in blocks:
        result[cells(block)] = values[block]
    if len(losers):
        total = values[winners] + np.bincount(group, weights=values[losers], minlength=len(shared))
        count = 1 + np.bincount(group, minlength=len(shared))
        numeric = ~categorical[shared % C]
        result[shared[numeric]] = (total / count)[numeric]
        result[shared[~numeric]] = values[winners[~numeric]]
    return result.reshape(N, C), Repeats(len(losers), losers)


def merge_column(steps: Steps, column: npt.NDArray[np.float32], categorical: bool) -> tuple[npt.NDArray[Any], Repeats]:
    """Reduce a column to one value per sample: the mean of those observed, or, if categorical, the last.

    Args:
        column: (R,) values in the order of the steps, NaN = not observed.

    Returns:
        (N,) values and the repeats.
    """
    rows = np.flatnonzero(~np.isnan(column))
    one = np.zeros(len(rows), dtype=np.int64)
    narrow = Steps(None, steps.step[rows], steps.offsets, steps.ticks)
    merged, repeats = scatter(narrow, one, column[rows], 1, np.array([categorical]))
    return merged[:, 0], Repeats(repeats.count, rows[repeats.rows])
