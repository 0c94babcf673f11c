"""Choose the series, or ends of series, to score forecasters on, and those to train on before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold

from liquidtime.data import SeriesSet
from liquidtime.data.container import common_clock, moving_together

Rows = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]
_FEWEST = 10
"""Smallest number of series to hold out whole ones; if there are fewer, each is cut in time."""
_HELD = 5
"""A single fold holds out one series out of this many."""
_STRETCHES = 50
"""Number of pieces of the end of a series that count as independent."""
_HEAD = 0.7
"""Share of each series to train on in a single fold in time; several folds start at half."""


@dataclass(frozen=True, eq=False)
class Fold:
    """The part to train on, and the part to score on.

    Args:
        data: S series.
        until: (S,) how many samples of each may be learned from.
        held: (H,) positions of the series that are forecast.
        upto: (H,) how many samples of them there are.
        start: the share of those before the first cut: 0 for series of which nothing was learned.
        units: how many of the series forecast have nothing to do with each other: groups, or moments.
    """

    data: SeriesSet
    until: Rows
    held: Rows
    upto: Rows
    start: float
    units: int

    @property
    def seen(self) -> SeriesSet:
        """The series to train on."""
        some = np.flatnonzero(self.until > 0)
        return self.data[some].head(self.until[some])

    @property
    def tried(self) -> SeriesSet:
        """The series to forecast."""
        return self.data[self.held].head(self.upto)


def forecast_folds(data: SeriesSet, count: int, seed: int, groups: Any = None, order: Any = None) -> list[Fold]:
    """Return folds: by group or time if known, in time if series are few or overlap, otherwise at random.

    Series on one clock, as those with time stamps, are held out from earlier ones that had ended by then. Where most of
    them lie beside each other in time, and where there are fewer than ten, the end of each is held out instead. Series
    that move together are held out together. With both groups and an order, later series are held out from earlier ones
    of other groups; where all groups recur later, half of them are held out in turn.

    Args:
        data: the series.
        count: folds; fewer where there are fewer groups or times. One holds out a fifth of the series.
        seed: of the draw.
        groups: (S,) series of one group are held out together; None for none.
        order: (S,) when each series was taken, numbers or time stamps; None for none.

    Raises:
        ValueError: arrays of another length, or a single group.

    """
    some = np.flatnonzero(data.lengths >= 2)
    owners = None if groups is None else _codes("groups", groups, data)
    if order is not None:
        moments = _codes("order", order, data)
        if len(np.unique(moments)) == 1:
            return _ends(data, count)
        return _later(data, some, moments, moments, count, owners)
    if owners is not None:
        return _grouped(data, some, owners, count, seed)
    if len(some) < _FEWEST:
        return _ends(data, count)
    clock = common_clock(data)
    if clock is not None:
        return _ends(data, count) if beside_each_other(*clock) else _later(data, some, *clock, count)
    together = moving_together(data)
    if together is not None:
        return _grouped(data, some, together, count, seed)
    shuffled = np.random.default_rng(seed).permutation(some)
    parts = np.array_split(shuffled, max(count, _HELD if count == 1 else 2))
    return [_whole(data, np.setdiff1d(some, part), np.sort(part)) for part in parts[:count]]


def beside_each_other(first: Values, last: Values) -> bool:
    """Return whether most series last for more than half of the time that all of them span.

    Args:
        first: (S,) when they begin.
        last: (S,) when they end.
    """
    return bool(np.median(last - first) > 0.5 * (last.max() - first.min()))


def _whole(data: SeriesSet, train: Rows, held_out: Rows, codes: npt.NDArray[Any] | None = None) -> Fold:
    """Return a fold of whole series; series with the same code, such as one group, stay together."""
    until = np.zeros(len(data), dtype=np.int64)
    until[train] = data.lengths[train]
    units = len(held_out) if codes is None else len(np.unique(codes[held_out]))
    return Fold(data, until, held_out, data.lengths[held_out], 0.0, units)


def _grouped(data: SeriesSet, some: Rows, codes: Rows, count: int, seed: int) -> list[Fold]:
    number = len(np.unique(codes[some]))
    if number < 2:
        raise ValueError("`groups` must have at least two different groups; got one")
    splits = min(_HELD if count == 1 else max(count, 2), number)
    cuts = GroupKFold(splits, shuffle=True, random_state=seed % 2**32).split(some, groups=codes[some])
    return [_whole(data, some[train], some[held], codes) for train, held in list(cuts)[:count]]


def _later(
    data: SeriesSet,
    some: Rows,
    first: npt.NDArray[Any],
    last: npt.NDArray[Any],
    count: int,
    owners: Rows | None = None,
) -> list[Fold]:
    """Return folds whose series begin after those to train on have ended: blocks of the later half, or one fifth."""
    order = some[np.argsort(first[some], kind="stable")]
    begin = len(order) - max(1, round(len(order) / (_HELD if count == 1 else 2)))
    edges = np.linspace(begin, len(order), count + 1).astype(np.int64)
    folds: list[Fold] = []
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        held = order[low:high]
        if len(held):
            train = some[last[some] < first[held].min()]
            if owners is not None:
                train, held = apart(train, held, owners, len(folds))
            units = first if owners is None else owners
            folds += [_whole(data, train, np.sort(held), units)] if len(train) else []
    return folds or _ends(data, count)


def apart(train: Rows, held: Rows, owners: npt.NDArray[Any], turn: int) -> tuple[Rows, Rows]:
    """Return training series of groups that are not held out, and held-out series.

    Where every earlier group recurs among the later series, half of the groups are held out and the others train.

    Args:
        train: the earlier series.
        held: the later series.
        owners: (S,) the group of each series.
        turn: number of the fold, so that successive folds hold out different halves.
    """
    others = train[~np.isin(owners[train], owners[held])]
    if len(others):
        return others, held
    groups = np.unique(owners[held])
    half = groups[turn % 2 :: 2] if len(groups) > 1 else groups
    return train[~np.isin(owners[train], half)], held[np.isin(owners[held], half)]


def _ends(data: SeriesSet, count: int) -> list[Fold]:
    """Return folds in time: the beginning of each series to train on, and the rest to score on."""
    shares = np.linspace(_HEAD if count == 1 else 0.5, 1.0, count + 1)
    folds: list[Fold] = []
    for low, high in zip(shares[:-1].tolist(), shares[1:].tolist(), strict=True):
        upto = np.maximum((data.lengths * high).astype(np.int64), np.minimum(data.lengths, 2))
        until = np.minimum(np.maximum((data.lengths * low).astype(np.int64), np.minimum(data.lengths, 1)), upto)
        held = np.flatnonzero(upto - until >= 1)
        if len(held) and (until >= 2).any():
            start = float(np.max(until[held] / np.maximum(upto[held] - 1, 1)))
            folds.append(Fold(data, until, held, upto[held], min(start, 1.0), _STRETCHES * len(held)))
    if folds:
        return folds
    some = np.flatnonzero(data.lengths >= 2)  # nothing can be held out, so the training series are used
    return [Fold(data, data.lengths, some, data.lengths[some], 0.0, len(some))]


def _codes(name: str, values: Any, data: SeriesSet) -> Rows:
    """Return (S,) the positions of values among the sorted unique values."""
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.shape != (len(data),):
        raise ValueError(f"`{name}` must have one entry per series, ({len(data)},); got shape {array.shape}")
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError(f"`{name}` must have a value for every series; {int(np.isnan(array).sum())} are NaN")
    codes: Rows = np.unique(array.astype(str) if array.dtype == object else array, return_inverse=True)[1]
    return codes.astype(np.int64)
