"""The scale on which a stack of numbers is fitted and weighed: as the targets are, or their logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesRegressor

from liquidtime.baselines.features.trees import filled
from liquidtime.estimators.stacking.folds import Folds

Floats = npt.NDArray[np.float64]
_OFFSET = 0.05
"""Of the logarithm of a target, in parts of its median: what is far below it is alike."""
_COST, _GAIN = 0.03, 0.01
"""Logarithms may cost this share of the root mean squared error; the product of both errors must fall by that share."""
_TREES, _LEAF, _MOST = 200, 3, 1500
"""Extra trees of a trial, series in a leaf at least, and series that it reads."""


@dataclass(frozen=True)
class TargetScale:
    """Maps W targets y to log(y + c), or leaves them as they are.

    Args:
        offsets: (W,) c > 0 of targets that are never negative; None for those that stay as they are.
    """

    offsets: tuple[float | None, ...]

    def scaled(self, values: Floats) -> Floats:
        """Return (n, W) on the scale; where it is logarithmic, values below 0 count as 0."""
        columns = [
            column if offset is None else np.log(np.maximum(column, 0.0) + offset)
            for column, offset in zip(values.T, self.offsets, strict=True)
        ]
        return np.stack(columns, axis=1)

    def unscaled(self, values: Floats) -> Floats:
        """Return (n, W) in units of the targets; the inverse of `scaled`."""
        columns = [
            column if offset is None else np.maximum(np.exp(column) - offset, 0.0)
            for column, offset in zip(values.T, self.offsets, strict=True)
        ]
        return np.stack(columns, axis=1)


def plain_scale(W: int) -> TargetScale:
    """Return the scale that leaves W targets as they are."""
    return TargetScale((None,) * W)


def choose_scale(X: Floats, table: Floats, folds: Folds, seed: int) -> TargetScale:
    """Return the scale on which extra trees predict held-out series better, target by target.

    Where errors grow with the target, logarithms weigh all series alike. They are taken for targets that are never
    negative where the product of mean absolute and root mean squared error of held-out series falls by 1 % and the
    latter does not rise by more than 3 %.

    Args:
        X: (S, p) features, NaN where undefined.
        table: (S, W) targets.
        folds: (training rows, held-out rows).
        seed: of the trees.
    """
    return TargetScale(tuple(_offset(X, column, folds, seed) for column in table.T))


def _offset(X: Floats, y: Floats, folds: Folds, seed: int) -> float | None:
    middle = float(np.median(y))
    if X.shape[1] == 0 or not folds or y.min() < 0 or middle <= 0:
        return None
    rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:_MOST])
    chosen = np.zeros(len(y), dtype=np.bool_)
    chosen[rows] = True
    offset = _OFFSET * middle
    plain, logarithmic = plain_scale(1), TargetScale((offset,))
    errors: dict[TargetScale, list[Floats]] = {plain: [], logarithmic: []}
    table = filled(X)
    for train, held in folds:
        train, held = train[chosen[train]], held[chosen[held]]
        if not len(train) or not len(held):
            continue
        for scale, found in errors.items():
            forest = ExtraTreesRegressor(
                _TREES, max_features=min(0.3, 100 / X.shape[1]), min_samples_leaf=_LEAF, random_state=seed % 2**32
            ).fit(table[train], scale.scaled(y[train, None])[:, 0])
            found.append(scale.unscaled(forest.predict(table[held])[:, None])[:, 0] - y[held])
    if not errors[plain]:
        return None
    before, after = (np.concatenate(errors[scale]) for scale in (plain, logarithmic))
    absolute = np.abs(after).mean() / max(np.abs(before).mean(), np.finfo(float).tiny)
    squared = np.sqrt((after**2).mean() / max((before**2).mean(), np.finfo(float).tiny))
    return offset if squared <= 1.0 + _COST and absolute * squared <= 1.0 - _GAIN else None
