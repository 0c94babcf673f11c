"""Split series for a test: by share, by groups, by time, with a separate test set, or in folds."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_size
from liquidtime.data import SeriesSet
from liquidtime.data.container import absolute_times, common_clock, moving_together, sample_times
from liquidtime.data.encoding.future_times import last_times
from liquidtime.estimators.stacking.folds import make_folds
from liquidtime.evaluation.grouped_ids import grouped_ids
from liquidtime.evaluation.hold_out import (
    FEWEST,
    Rows,
    ends_by_share,
    hold_out,
    hold_out_ends,
    hold_out_later,
    hold_out_latest,
)


@dataclass(frozen=True, eq=False)
class SplitRequest:
    """The requested split, with at most one of `test`, `after` and `folds`.

    Args:
        share: share of the series to test on; 0 for no test.
        groups: (S,) group of each series, which is never split; None for no groups.
        test: (S,) whether each series is tested on; None if this is not fixed.
        after: test on the series that end at this time or later; None for no such time.
        folds: number of folds; None for one test part.
        order: (S,) date or order of each series; the test uses the latest. None for no order.
    """

    share: float = 0.2
    groups: Any = None
    test: npt.NDArray[np.bool_] | None = None
    after: Any = None
    folds: int | None = None
    order: Any = None

    def __post_init__(self) -> None:
        asked = [("test", self.test), ("test_after", self.after), ("folds", self.folds)]
        if self.order is not None:
            if self.after is not None:
                raise ValueError("`order` and `test_after` both define which series are later; give only one of them")
            if self.folds is not None:
                raise ValueError("`order` and `folds` are different ways to test; give only one of them")
        named = [f"`{name}`" for name, value in asked if value is not None]
        if len(named) > 1:
            raise ValueError(f"{' and '.join(named)} are different ways to test; give only one of them")
        if self.folds is not None:
            check_size("folds", self.folds, 2)


@dataclass(frozen=True, eq=False)
class Split:
    """Series that are split for a test.

    Args:
        data: series to which the rows of `folds` refer; pieces of series if they were cut in time.
        folds: (training rows, test rows), one pair, or one per fold; none without a test.
        words: description of the split.
        groups: (S,) number of the group of each series; None for no groups.
        order: (S,) end of each series, if the test is by time: choices inside the training part then respect time
            too; None otherwise.
        cut: whether `data` consists of pieces of series.
    """

    data: SeriesSet
    folds: Sequence[tuple[Rows, Rows]]
    words: str
    groups: npt.NDArray[np.int64] | None = None
    order: npt.NDArray[Any] | None = None
    cut: bool = False


def split_series(
    data: SeriesSet, request: SplitRequest, seed: int, strata: Any, in_time: bool, in_pieces: bool = False
) -> Split:
    """Split series; warn if there is no test, and if ids look grouped but there are no groups.

    Args:
        data: S series.
        request: requested split.
        seed: random seed.
        strata: (S,) classes, of which every part gets its share; None for no classes.
        in_time: whether a series can be trained on up to some time and tested on after it, as for forecasts.
        in_pieces: whether a few long series can be tested on pieces of what follows.

    Raises:
        ValueError: the split leaves nothing to train on or to test on.

    """
    groups = group_codes(request.groups, len(data))
    order = order_codes(request.order, len(data))
    if request.test is not None:
        train, test = np.flatnonzero(~request.test), np.flatnonzero(request.test)
        return Split(data, [(train, test)], "a separate set", groups, order)
    if request.after is not None:
        return _by_time(data, request.after, strata, groups, in_time)
    looks = "" if groups is not None else grouped_ids(data.ids)
    if looks:
        warnings.warn(
            f"{looks}. If they belong to the same subject, keep them together with `groups`; otherwise the figures of "
            "the test "
            "are too good.",
            UserWarning,
            stacklevel=4,
        )
    apart = "" if groups is None else f", {int(groups.max()) + 1:,} groups kept together"
    if request.folds is not None:
        folds = _folds(len(data), request.folds, seed, strata, groups)
        return Split(data, folds, f"each by a model trained on the other folds, {len(folds)} folds{apart}", groups)
    if request.share == 0:
        warnings.warn(
            "`test_share` is 0: the model is trained on all series and not tested, so nothing is known about how "
            "good it is",
            UserWarning,
            stacklevel=4,
        )
        return Split(data, [], "nothing is tested", groups, order)
    if order is not None:
        train, test = hold_out_latest(order, request.share, strata, groups)
        left = len(data) - len(train) - len(test)
        apart = f"; {left:,} earlier ones from the same groups are left out" if left else ""
        return Split(data, [(train, test)], f"the latest ones{apart}", groups, order)
    if (in_time or in_pieces) and len(data) < FEWEST:
        pieces, train, test = hold_out_ends(data, ends_by_share(data, request.share), with_past=in_time)
        return Split(pieces, [(train, test)], f"the last {request.share:.0%} of the samples", cut=True)
    if in_time and groups is None:
        latest = None if common_clock(data) is None else _latest_samples(data, request.share)
        if latest is not None:
            return latest
        groups = moving_together(data)
        if groups is not None:
            apart = (
                f", {int(groups.max()) + 1:,} groups of series that move together are kept together, as they seem to "
                "share their time"
            )
    train, test = hold_out(len(data), request.share, seed, strata, groups)
    return Split(data, [(train, test)], f"drawn at random{apart}", groups)


def _latest_samples(data: SeriesSet, share: float) -> Split | None:
    """Return the split of series on one clock at the time after which a given share of the samples lies."""
    every = np.sort(sample_times(data))
    moment = every[int(np.clip((1.0 - share) * len(every), 0, len(every) - 1))]
    parts = _cut_at(data, moment)
    if not 0.0 < share < 1.0 or parts is None:
        return None
    told = moment.astype("datetime64[s]") if moment.dtype.kind == "M" else f"{moment:g}"
    return Split(parts[0], [parts[1:]], f"samples at {told} or later, because all series use one clock", cut=True)


def group_codes(groups: Any, S: int) -> npt.NDArray[np.int64] | None:
    """Return (S,) the number of each series' group; None without groups.

    Raises:
        ValueError: the number of entries is not that of the series, or a group is missing.

    """
    if groups is None:
        return None
    array = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
    if array.shape != (S,):
        raise ValueError(f"`groups` must have one entry per series, ({S},); got shape {array.shape}")
    unknown = np.array([item is None or item != item for item in array.tolist()], dtype=bool)
    if unknown.any():
        raise ValueError(
            f"`groups` must have a value for every series; {int(unknown.sum())} are not, the first at position "
            f"{int(unknown.argmax())}"
        )
    texts = array.astype(str) if array.dtype == object else array
    return np.unique(texts, return_inverse=True)[1].astype(np.int64)


def order_codes(order: Any, S: int) -> npt.NDArray[np.int64] | None:
    """Return (S,) the rank of each series in time, equal for equal times; None without an order.

    Raises:
        ValueError: the number of entries is not that of the series, one is missing, or they are of different kinds.

    """
    if order is None:
        return None
    array = np.asarray(order.to_numpy() if hasattr(order, "to_numpy") else order)
    if array.shape != (S,):
        raise ValueError(f"`order` must have one entry per series, ({S},); got shape {array.shape}")
    unknown = np.array([item is None or item != item for item in array.tolist()], dtype=bool)
    if unknown.any():
        raise ValueError(
            f"`order` must have a value for every series; {int(unknown.sum())} are not, the first at position "
            f"{int(unknown.argmax())}"
        )
    try:
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise ValueError("`order` must be all numbers, all time stamps or all texts that sort by time") from error


def moment_of(data: SeriesSet, moment: Any) -> Any:
    """Return a time that can be compared with those of the series: a number, or a time stamp.

    Args:
        data: the series.
        moment: a number, a time stamp, or either as text.

    Raises:
        ValueError: it is not such a time.

    """
    stamps = data.origins is not None and data.origins.dtype.kind == "M"
    try:
        if not stamps:
            return int(moment) if data.origins is not None else float(moment)
        if isinstance(moment, str):
            moment = datetime.datetime.fromisoformat(moment)
        if isinstance(moment, datetime.datetime) and moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        if isinstance(moment, int | float):
            raise TypeError
        return np.datetime64(moment, "ns")
    except (TypeError, ValueError, OverflowError) as error:
        kind = "a time stamp such as 2024-03-31 or 2024-03-31T12:00" if stamps else "a number, as the times are"
        raise ValueError(f"`test_after` must be {kind}; got {moment!r}") from error


def _by_time(data: SeriesSet, after: Any, strata: Any, groups: Any, in_time: bool) -> Split:
    moment = moment_of(data, after)
    ends = absolute_times(data, last_times(data)[:, None])[:, 0]
    if not in_time:
        train, test = hold_out_later(ends, moment, strata, groups)
        left = len(data) - len(train) - len(test)
        apart = f"; {left:,} earlier ones from the same groups are left out" if left else ""
        return Split(data, [(train, test)], f"those that end at {after} or later{apart}", groups, ends)
    parts = _cut_at(data, moment)
    if parts is None:
        every = sample_times(data)
        raise ValueError(
            f"`test_after` must leave samples to train on and to test on; the series end from {ends.min()} to "
            f"{ends.max()}, and {int((every < moment).sum()):,} of {len(every):,} samples are before {moment}"
        )
    return Split(parts[0], [parts[1:]], f"samples at {after} or later", cut=True)


def _cut_at(data: SeriesSet, moment: Any) -> tuple[SeriesSet, Rows, Rows] | None:
    """Return pieces before and after a time, as `hold_out_ends` does; None if one part is empty."""
    later = np.concatenate([[0], np.cumsum(sample_times(data) >= moment)])
    held = later[data.offsets[1:]] - later[data.offsets[:-1]]
    held[(held < 2) | (data.lengths == 0)] = 0  # too short to forecast anything
    pieces, train, test = hold_out_ends(data, held)
    return (pieces, train, test) if len(test) and (pieces.lengths[train] >= 2).any() else None


def _folds(S: int, count: int, seed: int, strata: Any, groups: Any) -> list[tuple[Rows, Rows]]:
    codes = None if strata is None else np.unique(strata, return_inverse=True)[1].astype(np.int64)
    number = S if groups is None else int(groups.max()) + 1
    if number < max(count, FEWEST if groups is None else 2):
        what = "series" if groups is None else "groups"
        raise ValueError(f"`folds` must be at most the number of {what}; got {count} folds for {number} {what}")
    folds = make_folds(S, count, seed, codes, groups)
    if codes is not None:
        for train, held in folds:
            new = np.setdiff1d(codes[held], codes[train])
            if len(new):
                label = np.unique(strata)[new[0]]
                raise ValueError(
                    f"`folds` need at least 2 series of each class, and of several groups; those of class {label} are "
                    "all in one fold"
                )
    return folds
