"""From rows in any order to sorted series: one step for each distinct time of a series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data.container import Findings, Note, Ticks, first_places, unknown

_BLOCK = 2**18  # rows handled at once, to keep what is made on the way small


@dataclass(frozen=True)
class Steps:
    """How the rows of a frame become the samples of a set.

    Args:
        order: (R,) the rows sorted by series and time, or None if they were.
        step: (R,) for each row in that order, the sample it belongs to.
        offsets: (S + 1,) where the samples of each series start.
        ticks: (N,) the time of each sample.
    """

    order: npt.NDArray[np.integer[Any]] | None
    step: npt.NDArray[np.integer[Any]]
    offsets: npt.NDArray[np.int64]
    ticks: Ticks

    def sort(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Bring a column of the frame into the order of the steps."""
        return column if self.order is None else column[self.order]

    @property
    def merged(self) -> bool:
        """Whether several rows share a sample."""
        return len(self.step) > len(self.ticks.values)


def refuse_unknown_times(ticks: Ticks, codes: npt.NDArray[Any], ids: npt.NDArray[Any]) -> None:
    """Refuse NaN, NaT and infinite times; the first are named by series and position."""
    bad = unknown(ticks)
    if bad.any():
        kind = "NaT" if ticks.kind == "stamp" else ""
        offenders = first_places(bad, codes, ids, lambda row: kind or str(ticks.values[row]))
        raise ValueError(
            f"`time` must be finite; {int(bad.sum())} of {len(bad)} are not. The first: {', '.join(offenders)}. "
            "Drop those rows or fill in their times."
        )


def find_steps(codes: npt.NDArray[Any], ticks: Ticks, ids: npt.NDArray[Any], findings: Findings) -> Steps:
    """Sort rows by series and time, say so where times were out of order, and number the distinct times.

    Args:
        codes: (R,) the series of each row, 0…S - 1.
        ticks: (R,) the time of each row, finite.
        ids: (S,) the ids.
        findings: takes the note, or refuses.
    """
    narrow: Any = np.int32 if len(codes) < 2**31 else np.int64
    order: npt.NDArray[Any] | None = None
    if (codes[1:] < codes[:-1]).any():
        order = np.argsort(codes, kind="stable").astype(narrow)
    if _note_disorder(codes, ticks, order, ids, findings):
        order = None  # large, and the next one is made beside it
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
    """Return whether times go back within a series, and note where; `order` has the rows of a series together."""
    if order is not None:
        codes, ticks = codes[order], ticks.rows(order)
    back = np.zeros(len(codes), dtype=bool)
    back[1:] = (codes[1:] == codes[:-1]) & (ticks.values[1:] < ticks.values[:-1])
    if not back.any():
        return False
    offenders = first_places(back, codes, ids)
    what = "times earlier than the row before, sorted"
    findings.add(Note("repaired", what, int(back.sum()), len(back), offenders))
    return True


@dataclass(frozen=True)
class Repeats:
    """Several values of one channel at one time: how many beyond the last, and which rows."""

    count: int
    rows: npt.NDArray[np.int64]


def scatter(
    steps: Steps,
    channel: npt.NDArray[np.integer[Any]],
    values: npt.NDArray[np.float32],
    C: int,
    categorical: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.float32], Repeats]:
    """Put measurements into their cells; several in one cell are averaged, of a categorical channel the last counts.

    Which rows share a cell is found by writing row numbers into the cells, in the memory of the result, and reading
    them back: a row that does not find its own number was overwritten.

    Args:
        channel: (R,) channel of each row, in the order of the steps.
        values: (R,) finite values, likewise.
        C: number of channels.
        categorical: (C,) whether a channel is categorical.

    Returns:
        (N, C) values, NaN where there is none, and the repeats.
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
    """Reduce a column of rows to one value per sample: the mean of those observed, or the last of a categorical one.

    Args:
        column: (R,) in the order of the steps, NaN = not observed.

    Returns:
        (N,) values and the repeats.
    """
    rows = np.flatnonzero(~np.isnan(column))
    one = np.zeros(len(rows), dtype=np.int64)
    narrow = Steps(None, steps.step[rows], steps.offsets, steps.ticks)
    merged, repeats = scatter(narrow, one, column[rows], 1, np.array([categorical]))
    return merged[:, 0], Repeats(repeats.count, rows[repeats.rows])
