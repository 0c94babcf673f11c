"""Which series are trained on and which are tested on."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.forecast_test import SHARE

Rows = npt.NDArray[np.int64]
FEWEST = 4
"""Series that can be split; of fewer, each is split in time."""
_WINDOW, _MOST, _LEAST = 32, 20, 24
_DRAWS = 64
"""Draws of groups of which the one with the most even shares of series and classes is taken."""


def hold_out(S: int, share: float, seed: int, classes: Any = None, groups: Any = None) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to test on, in order.

    Args:
        S: number of series.
        share: of the series to test on, in (0, 1).
        seed: of the draw.
        classes: (S,) labels of which both parts are to have their share; None draws from all alike.
        groups: (S,) series of one group are all trained on or all tested on; None for none.

    Raises:
        ValueError: too few series or groups, or a class with too few of them.

    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`test_share` must be between 0 and 1; got {share!r}")
    held = int(np.ceil(share * S))
    if S < FEWEST or S - held < 2:
        raise ValueError(
            f"`data` must have series to train on and to test on; got {S} with `test_share` {share:g}. Add series, or "
            "train without a test: `test_share` 0."
        )
    if classes is not None:
        labels, counts = np.unique(classes, return_counts=True)
        rare = counts < 2
        if rare.any():
            raise ValueError(
                f"`target` must have at least 2 series of each class, to train on and to test on; {int(rare.sum())} of "
                f"{len(labels)} classes have only 1, the first is {labels[rare][0]}. Leave these series out or merge "
                "classes."
            )
        if held < len(labels) or S - held < len(labels):
            raise ValueError(
                f"`test_share` must leave each of {len(labels)} classes a series in both parts; {share:g} of {S} "
                f"series is {held}"
            )
    if groups is not None:
        return _grouped(share, seed, classes, np.asarray(groups))
    train, test = train_test_split(np.arange(S), test_size=share, random_state=seed, stratify=classes)
    return np.sort(train), np.sort(test)


def _grouped(share: float, seed: int, classes: Any, groups: npt.NDArray[Any]) -> tuple[Rows, Rows]:
    """Draw whole groups, several times; return the draw in which sizes and classes are nearest to their shares."""
    number = len(np.unique(groups))
    if number < 2:
        raise ValueError(f"`groups` must be at least 2, to train on and to test on; got {number}")
    codes = np.zeros(len(groups), dtype=np.int64) if classes is None else np.unique(classes, return_inverse=True)[1]
    wanted, best = share * np.bincount(codes), None
    splitter = GroupShuffleSplit(_DRAWS, test_size=share, random_state=seed)
    for train, test in splitter.split(codes, groups=groups):
        counts = np.bincount(codes[test], minlength=len(wanted))
        unlearned = int((np.bincount(codes[train], minlength=len(wanted)) == 0).sum())
        fault = (unlearned, float(np.abs(counts - wanted).sum()))
        if best is None or fault < best[0]:
            best = fault, train, test
    assert best is not None
    (unlearned, _), train, test = best
    if unlearned:
        raise ValueError(
            f"`groups` leave {unlearned} classes without a series to train on: each class needs series of at least 2 "
            f"groups; there are {number} groups"
        )
    return np.sort(train).astype(np.int64), np.sort(test).astype(np.int64)


def hold_out_later(
    ends: npt.NDArray[Any], moment: Any, classes: Any = None, groups: Any = None, argument: str = "test_after"
) -> tuple[Rows, Rows]:
    """Return the series that end before a moment, to train on, and those that end at it or later, to test on.

    Args:
        ends: (S,) the time of the last sample of each series.
        moment: a time of the same kind.
        classes: (S,) labels, of which the training part must have all that the test part has; None for values.
        groups: (S,) where a group has a series in the test part, none of it is trained on; None for none.
        argument: what the moment was given by, for errors.

    Raises:
        ValueError: no series on one side, or a class that is only on the later one.

    """
    later = ends >= moment
    train = ~later
    if groups is not None:
        train &= ~np.isin(groups, np.asarray(groups)[later])
    if not later.any() or train.sum() < 2:
        raise ValueError(
            f"`{argument}` must leave series to train on and to test on; of {len(ends):,} series, which end from "
            f"{ends.min()} to {ends.max()}, {int(train.sum()):,} end before {moment} and {int(later.sum()):,} later"
        )
    if classes is not None:
        new = np.setdiff1d(np.asarray(classes)[later], np.asarray(classes)[train])
        if len(new):
            raise ValueError(
                f"`{argument}` leaves {len(new)} classes without a series that ends before {moment}; the first is "
                f"{new[0]}"
            )
    return np.flatnonzero(train), np.flatnonzero(later)


def hold_out_latest(
    order: npt.NDArray[np.int64], share: float, classes: Any = None, groups: Any = None
) -> tuple[Rows, Rows]:
    """Return the earlier series, to train on, and the latest, to test on; those of one time stay together.

    Args:
        order: (S,) ranks of when the series were taken.
        share: of the series to test on, in (0, 1).
        classes: as in `hold_out_later`; likewise `groups`.

    Raises:
        ValueError: all series of one time, no such share, or what `hold_out_later` refuses.

    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`test_share` must be between 0 and 1; got {share!r}")
    ranks, counts = np.unique(order, return_counts=True)
    if len(ranks) < 2:
        raise ValueError("`order` must have at least two different times, to train on and to test on; got one")
    tested = np.cumsum(counts[::-1])[::-1][1:]  # series from each rank on, the first left to train on
    best = int(np.abs(tested - share * len(order)).argmin())
    return hold_out_later(order, ranks[1:][best], classes, groups, "order")


def ends_by_share(data: SeriesSet, share: float) -> npt.NDArray[np.int64]:
    """Return (S,) how many samples at the end of each series are tested on.

    Args:
        data: a few long series.
        share: of the samples of each, in (0, 1).

    Raises:
        ValueError: a share that is none, or a series of too few samples.

    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`test_share` must be between 0 and 1; got {share!r}")
    held: npt.NDArray[np.int64] = np.ceil(share * data.lengths).astype(np.int64)
    short = (data.lengths < _LEAST) | (held < 4) | (data.lengths - held < 4)
    if short.any():
        series = int(short.argmax())
        raise ValueError(
            f"`data` must have at least {FEWEST} series, or series of at least {_LEAST} samples to split in time; "
            f"got {len(data)}, and series {data.ids[series]} has {data.lengths[series]} samples with `test_share` "
            f"{share:g}. Add samples, or train without a test: `test_share` 0."
        )
    return held


def hold_out_ends(data: SeriesSet, held: npt.NDArray[np.int64], with_past: bool = True) -> tuple[SeriesSet, Rows, Rows]:
    """Cut each series in time: its beginning to train on, windows of its end to test on; one held whole stays whole.

    A window starts so long before its first sample to test on, if the series reaches so far back, that the test of
    forecasts cuts it there: every sample of the end is forecast once, from a past that may reach into the training
    part, and no other is.

    Args:
        data: the series.
        held: (S,) how many samples at the end of each are tested on, from none to all.
        with_past: whether windows reach back; otherwise each sample of the end is in one window, and no other is.

    Returns:
        the pieces as a set of series, and which of them are to train and to test on.

    """
    spans: list[tuple[int, int, int]] = []
    ids: list[str] = []
    tested: list[bool] = []
    for series, (length, kept) in enumerate(zip(data.lengths.tolist(), held.tolist(), strict=True)):
        begin, count = int(data.offsets[series]), min(_MOST, max(1, kept // _WINDOW)) if kept < length else 1
        if kept < length or length == 0:
            spans.append((series, begin, begin + length - kept))
            ids.append(f"{data.ids[series]}")
            tested.append(False)
        if kept == 0:
            continue
        edges = np.linspace(length - kept, length, count + 1).astype(np.int64).tolist()
        for place, (low, high) in enumerate(itertools.pairwise(edges), 1):
            past = int((high - low) * SHARE / (1.0 - SHARE)) if kept < length and with_past else 0
            spans.append((series, begin + max(low - past, 0), begin + high))
            ids.append(f"{data.ids[series]} test {place}")
            tested.append(True)
    rows = np.concatenate([np.arange(low, high) for _, low, high in spans])
    owners = np.array([series for series, _, _ in spans])
    pieces = data.replace_unchecked(
        offsets=np.concatenate([[0], np.cumsum([high - low for _, low, high in spans])]).astype(np.int64),
        times=data.times[rows],
        values=data.values[rows],
        ids=np.array(ids),
        static=data.static[owners],
        origins=None if data.origins is None else data.origins[owners],
    )
    test = np.array(tested)
    return pieces, np.flatnonzero(~test), np.flatnonzero(test)
