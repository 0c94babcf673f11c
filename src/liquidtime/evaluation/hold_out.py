"""Choose the series to train on and the series to test on."""

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
"""Smallest number of series to split; if there are fewer, each series is split in time."""
_WINDOW, _MOST, _LEAST = 32, 20, 24
_DRAWS = 64
"""Number of draws of groups, of which the one with the most even shares of series and classes is used."""


def hold_out(S: int, share: float, seed: int, classes: Any = None, groups: Any = None) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to test on, in order.

    Args:
        S: number of series.
        share: share of the series to test on, in (0, 1).
        seed: random seed.
        classes: (S,) labels, of which both parts get an equal share; None for no labels.
        groups: (S,) group of each series, which is never split; None for no groups.

    Raises:
        ValueError: there are too few series or groups, or too few of one class.

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
                f"series is {held}. Set it between {len(labels) / S:.2g} "
                f"and {1 - len(labels) / S:.2g}, or merge classes."
            )
    if groups is not None:
        return _grouped(share, seed, classes, np.asarray(groups))
    train, test = train_test_split(np.arange(S), test_size=share, random_state=seed, stratify=classes)
    return np.sort(train), np.sort(test)


def _grouped(share: float, seed: int, classes: Any, groups: npt.NDArray[Any]) -> tuple[Rows, Rows]:
    """Draw whole groups several times, and return the draw whose sizes and classes are nearest to their shares."""
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
    """Return the series that end before a time, to train on, and those that end later, to test on.

    Args:
        ends: (S,) time of the last sample of each series.
        moment: the time that separates them, of the same kind.
        classes: (S,) labels; all labels of the test part must be in the training part. None for values.
        groups: (S,) group of each series; if one is tested on, the others are not trained on. None for no groups.
        argument: name of the argument that set the time, for errors.

    Raises:
        ValueError: one part has no series, or a class is only in the test part.

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
    """Return the earlier series, to train on, and the latest, to test on; series of the same time stay together.

    Args:
        order: (S,) ranks of the series in time.
        share: share of the series to test on, in (0, 1).
        classes: see `hold_out_later`.
        groups: see `hold_out_later`.

    Raises:
        ValueError: all series have the same time, the share is not in (0, 1), or `hold_out_later` refuses the result.

    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`test_share` must be between 0 and 1; got {share!r}")
    ranks, counts = np.unique(order, return_counts=True)
    if len(ranks) < 2:
        raise ValueError("`order` must have at least two different times, to train on and to test on; got one")
    tested = np.cumsum(counts[::-1])[::-1][1:]  # number of series from each rank on; the first rank is trained on
    best = int(np.abs(tested - share * len(order)).argmin())
    return hold_out_later(order, ranks[1:][best], classes, groups, "order")


def ends_by_share(data: SeriesSet, share: float) -> npt.NDArray[np.int64]:
    """Return (S,) the number of samples at the end of each series that are tested on.

    Args:
        data: a few long series.
        share: share of the samples of each, in (0, 1).

    Raises:
        ValueError: the share is not in (0, 1), or a series has too few samples.

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


def hold_out_ends(
    data: SeriesSet, held_out: npt.NDArray[np.int64], with_past: bool = True
) -> tuple[SeriesSet, Rows, Rows]:
    """Cut each series into its beginning, to train on, and windows of its end, to test on.

    A window begins before its first test sample, if the series is long enough, so that the test of forecasts cuts it
    there. Every sample of the end is therefore forecast exactly once, from a past that may reach into the training
    part, and no other sample is.

    Args:
        data: the series.
        held_out: (S,) number of samples at the end of each series that are tested on, from none to all; if all, it is
            not cut.
        with_past: whether windows include the past; otherwise they consist of the samples of the end.

    Returns:
        The pieces as a set of series, and the rows to train on and to test on.

    """
    spans: list[tuple[int, int, int]] = []
    ids: list[str] = []
    tested: list[bool] = []
    for series, (length, kept) in enumerate(zip(data.lengths.tolist(), held_out.tolist(), strict=True)):
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
