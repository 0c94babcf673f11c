"""Boosting and linear models that forecast from features of the past, kept as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.estimators.forecast.blend import hats
from liquidtime.estimators.forecast.lags import Cuts, Rows
from liquidtime.estimators.stacking.tree_part import TreeMember

Values = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]
BOOSTING, LINEAR = "boosting", "linear"
LAG_PARTS = (BOOSTING, LINEAR)
"""The parts that forecast from features of the past."""
STRENGTHS = 4
"""Penalties of linear models to choose from."""
_KNOTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.97)
"""Quantiles of the gaps at which usual moves are measured, in addition to the gap 0."""
_WIDEST = 10.0
"""Where features of linear models are clipped."""
_FARTHEST = 3.0
"""Largest forecast of a linear model in usual moves, so that one outlier among its features has a bounded effect."""
_BLOCK = 1 << 17
"""Rows whose features are computed at once."""


@dataclass(frozen=True, eq=False)
class Growth:
    """How far values usually move from the last one within a time: 0 at first, then the root mean square in training.

    Args:
        knots: (K,) median intervals, the first 0.
        size: (K,) in standard deviations, the first 0.
    """

    knots: Values
    size: Values

    @staticmethod
    def of(since: Values, moved: Values) -> Growth:
        """Measure moves (n,) over times (n,) in median intervals; a channel without a value has infinite times."""
        finite = since[np.isfinite(since)]
        inner: Values = np.quantile(finite, _KNOTS) if len(finite) else np.ones(1)
        knots = np.array([0.0, *np.unique(np.maximum(inner, 1e-3)).tolist()])
        near = hats(knots, since)
        weight = near.sum(axis=0)
        size = np.sqrt(near.T @ moved**2 / np.maximum(weight, 1e-9))
        whole = max(float(np.sqrt((moved**2).mean())), 1e-6)
        size = np.where(weight >= 10, np.maximum(size, 0.02 * whole), whole)
        size[0] = 0.0
        return Growth(knots, size)

    def at(self, since: Values) -> Values:
        """Return (n,) the usual moves over times (n,)."""
        usual: Values = hats(self.knots, since) @ self.size
        return usual


@dataclass(frozen=True, eq=False)
class ChannelModels:
    """The models of one target, which predict by how many usual moves it leaves its last value.

    Args:
        growth: the usual moves.
        trees: boosting.
        weights: (p',) of the linear model's terms.
        strength: which penalty was chosen for them.
    """

    growth: Growth
    trees: TreeMember
    weights: Values
    strength: int

    def predict(self, table: Values, own: int, since: Values) -> Values:
        """Return (n, 2) the moves that boosting and the linear model forecast, in standard deviations."""
        linear = bounded(terms(table, own, hats(self.growth.knots, since)) @ self.weights)
        moves = np.stack([self.trees.predict(table, 0)[:, 0], linear], axis=1)
        return moves * self.growth.at(since)[:, None]


def bounded(moves: Values) -> Values:
    """Return the forecasts of a linear model, clipped to the range of its training data."""
    return np.clip(moves, -_FARTHEST, _FARTHEST)


def terms(table: Values, own: int, near: Values) -> Values:
    """Return (n, p') the terms of a linear model: the target's own features by gap, the others as they are.

    Args:
        table: (n, p) features, NaN where undefined.
        own: how many of the first are the target's own.
        near: (n, K) how near each row is to each knot.
    """
    known = np.clip(np.nan_to_num(table), -_WIDEST, _WIDEST)
    mine = np.concatenate([np.ones((len(table), 1)), known[:, :own]], axis=1)
    by_gap = (mine[:, :, None] * near[:, None, 1:]).reshape(len(table), -1)
    return np.concatenate([by_gap, known[:, own:]], axis=1)


@dataclass(frozen=True, eq=False)
class LagModels:
    """The models of all C targets.

    Args:
        channels: of each; None for one that training never saw twice, which stays at its last value.
    """

    channels: tuple[ChannelModels | None, ...]

    def predict(self, cuts: Cuts, gaps: Values, known: Values) -> Values:
        """Return (R, Q, C, 2) forecasts in standard deviations of scaled gaps (R, Q) after cuts.

        Args:
            cuts: R of them.
            gaps: (R, Q).
            known: (R, Q, K) the known channels at those times.
        """
        R, Q = gaps.shape
        rows: Rows = np.repeat(np.arange(R), Q)
        times = (cuts.now[:, None] + gaps * cuts.features.time_scale).reshape(-1)
        beside = known.reshape(R * Q, -1)
        forecasts = np.empty((R * Q, len(self.channels), len(LAG_PARTS)))
        for c, models in enumerate(self.channels):
            for begin in range(0, R * Q, _BLOCK):
                some = slice(begin, begin + _BLOCK)
                forecasts[some, c] = self._of(models, cuts, c, rows[some], times[some], beside[some])
        return forecasts.reshape(R, Q, len(self.channels), len(LAG_PARTS))

    @staticmethod
    def _of(models: ChannelModels | None, cuts: Cuts, c: int, rows: Rows, times: Values, known: Values) -> Values:
        last = cuts.last(c)[rows][:, None]
        if models is None:
            return np.repeat(last, len(LAG_PARTS), axis=1)
        table, own = cuts.table(c, rows, times, known)
        return last + models.predict(table, own, cuts.since(c, rows, times))

    def stored(self) -> tuple[list[int | None], Arrays]:
        """Return the strengths of the targets, None for those without models, and all arrays by name."""
        arrays: Arrays = {}
        for c, models in enumerate(self.channels):
            if models is not None:
                own = {"knots": models.growth.knots, "size": models.growth.size, "weights": models.weights}
                own |= {f"boosting.{name}": array for name, array in models.trees.to_arrays().items()}
                arrays |= {f"{c}/{name}": array for name, array in own.items()}
        return [None if models is None else models.strength for models in self.channels], arrays

    @staticmethod
    def restored(strengths: Any, arrays: Arrays, C: int, width: int, own: int) -> LagModels:
        """Return the models of what `stored` returned, which may come from an untrusted file.

        Args:
            strengths: of the targets; None for those without models.
            arrays: by name; they are taken out.
            C: targets.
            width: p of the tables.
            own: how many of the first columns are the target's own.

        Raises:
            ValueError: what does not fit together.

        """
        if not isinstance(strengths, list) or len(strengths) != C:
            raise ValueError(f"`models` must be one for each of {C} targets; got {strengths!r}")
        channels: list[ChannelModels | None] = []
        for c, strength in enumerate(strengths):
            taken = {name.removeprefix(f"{c}/"): arrays.pop(name) for name in list(arrays) if name.startswith(f"{c}/")}
            if strength is None and not taken:
                channels.append(None)
            elif type(strength) is int and 0 <= strength < STRENGTHS:
                channels.append(_restored(taken, width, own, strength))
            else:
                raise ValueError(f"`models` of target {c} must be a whole number below {STRENGTHS}; got {strength!r}")
        return LagModels(tuple(channels))


def _restored(arrays: Mapping[str, npt.NDArray[Any]], width: int, own: int, strength: int) -> ChannelModels:
    knots, size, weights = (_numbers(name, arrays.get(name)) for name in ("knots", "size", "weights"))
    if len(knots) < 2 or knots[0] != 0 or not (np.diff(knots) > 0).all() or size.shape != knots.shape:
        raise ValueError("`knots` of a target must be increasing gaps from 0, each with a size")
    if (size < 0).any() or size[0] != 0 or len(weights) != (own + 1) * (len(knots) - 1) + width - own:
        raise ValueError("`size` of a target must be at least 0, and `weights` one for each term")
    trees = {name.removeprefix("boosting."): array for name, array in arrays.items() if name.startswith("boosting.")}
    if set(arrays) != {"knots", "size", "weights", *(f"boosting.{name}" for name in trees)}:
        raise ValueError("a target must have knots, size, weights and trees, and nothing else")
    member = TreeMember.from_arrays(trees, 0, width)
    if len(member.baseline) != 1:
        raise ValueError("`baseline` of a target must be one number")
    return ChannelModels(Growth(knots, size), member, weights, strength)


def _numbers(name: str, array: Any) -> Values:
    if array is None or array.dtype != np.float64 or array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"`{name}` of a target must be a row of finite numbers")
    numbers: Values = array
    return numbers
