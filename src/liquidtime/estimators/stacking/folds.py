"""Choose the series that are held out together when the parts of a stack are evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold

from liquidtime.estimators.forecast.folds import apart

Rows = npt.NDArray[np.int64]
Folds = list[tuple[Rows, Rows]]


def make_folds(
    S: int,
    count: int,
    seed: int,
    codes: npt.NDArray[np.int64] | None = None,
    groups: Any = None,
    order: Any = None,
) -> Folds:
    """Return (training rows, held-out rows), the latter disjoint: by time, by group, or by class, in this preference.

    By time and by group: a fold is held out from earlier series of other groups; where all groups recur later, half of
    them are held out in turn.

    Args:
        S: number of series.
        count: folds at most; fewer where there are fewer series, groups or times.
        seed: random seed of the order.
        codes: (S,) classes, spread evenly over the folds; a fold whose training rows have one class only is left out.
        groups: (S,) series of one group are held out together; None for none.
        order: (S,) numbers or time stamps, when each series was taken: later ones are held out from earlier ones, and
            the first ones never; None for none.

    Raises:
        ValueError: arrays of another length, or a single group.

    """
    rows = np.arange(S, dtype=np.int64)
    if order is not None:
        parts = _later(_codes("order", order, S), count)
        if groups is not None:
            owners = _codes("groups", groups, S)
            parts = [apart(train, held, owners, turn) for turn, (train, held) in enumerate(parts)]
    elif groups is not None:
        parts = _grouped(_codes("groups", groups, S), count, seed)
    else:
        shuffled = np.random.default_rng(seed).permutation(S)
        if codes is not None:
            shuffled = shuffled[np.argsort(codes[shuffled], kind="stable")]
        number = np.empty(S, dtype=np.int64)
        number[shuffled] = rows % min(count, S)
        parts = [(rows[number != fold], rows[number == fold]) for fold in range(min(count, S))]
    return [
        (train, held)
        for train, held in parts
        if len(train) and len(held) and (codes is None or len(np.unique(codes[train])) > 1)
    ]


def _later(codes: npt.NDArray[np.int64], count: int) -> Folds:
    """Return folds each held out from all earlier ones; series of one time stay together."""
    if not codes.max():
        return []
    blocks = np.array_split(np.arange(codes.max() + 1), min(count, int(codes.max())) + 1)
    return [
        (np.flatnonzero(codes < block[0]), np.flatnonzero((codes >= block[0]) & (codes <= block[-1])))
        for block in blocks[1:]
    ]


def _grouped(codes: npt.NDArray[np.int64], count: int, seed: int) -> Folds:
    number = int(codes.max()) + 1
    if number < 2:
        raise ValueError("`groups` must have at least two different groups; got one")
    split = GroupKFold(min(count, number), shuffle=True, random_state=seed).split(codes, groups=codes)
    return [(train.astype(np.int64), held.astype(np.int64)) for train, held in split]


def _codes(name: str, values: Any, S: int) -> npt.NDArray[np.int64]:
    """Return (S,) the positions of values among the sorted unique values."""
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.shape != (S,):
        raise ValueError(f"`{name}` must have one entry per series, ({S},); got shape {array.shape}")
    if array.dtype.kind in "fM" and np.isnan(array).any():
        raise ValueError(f"`{name}` must have a value for every series; {int(np.isnan(array).sum())} are NaN")
    codes: npt.NDArray[np.int64] = np.unique(array, return_inverse=True)[1].astype(np.int64)
    return codes
