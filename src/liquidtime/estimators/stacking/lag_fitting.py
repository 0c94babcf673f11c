"""Fit models to features of the past: pairs of cuts and later values, folds, and the number of boosting rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor

from liquidtime.data import SeriesSet
from liquidtime.estimators.forecast.blend import hats
from liquidtime.estimators.forecast.lags import Cuts, LagFeatures, Rows
from liquidtime.estimators.stacking.flat_trees import boosted
from liquidtime.estimators.stacking.lag_models import ChannelModels, Growth, LagModels, bounded, terms
from liquidtime.estimators.stacking.tree_part import TreeMember

Values = npt.NDArray[np.float64]
_CHECKPOINTS = (12, 20, 35, 60, 100, 170, 280, 450)
"""Numbers of boosting rounds to choose from."""
_AT_ONCE = 3
"""Boosting continues by this many checkpoints as long as the last one is the best."""
_STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)
"""Penalties of linear models to choose from, each multiplied by the number of rows."""
_LATER = 4
"""Number of later values of a target that are drawn at each cut."""
_CUTS, _FEWEST_CUTS, _WORK = 12_000, 4_000, 200_000
"""Largest number of cuts, smallest limit for many targets, and limit of cuts times targets."""
_LEAST_ROWS = 40
"""With fewer later values, a target stays at its last value."""
_FARTHEST = 6.0
"""Where targets are clipped in training, in usual moves, so that one outlier does not dominate."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Cuts of the training series, and the values that were measured later.

    Args:
        cuts: R cuts.
        series: (R,) the series of each cut.
        rows: for each target, (n,) the cut that each later value belongs to.
        times: for each target, (n,) when the value was measured.
        truth: for each target, (n,) the value in standard deviations.
        known: for each target, (n, K) the known channels at that time.
    """

    cuts: Cuts
    series: Rows
    rows: list[Rows]
    times: list[Values]
    truth: list[Values]
    known: list[Values]

    @staticmethod
    def drawn(
        features: LagFeatures, steps: SeriesSet, starts: Values, static: Values, horizon: float, seed: int
    ) -> Pairs:
        """Draw cuts evenly from all series, and later values of each target within the horizon.

        Args:
            features: the features that describe a cut.
            steps: the training series.
            starts: (S, cycles) phase of each cycle at the start of each series.
            static: (S, F) encoded static features.
            horizon: in the set's time unit.
            seed: random seed of the draw.
        """
        rng = np.random.default_rng(seed)
        C = len(features.targets)
        most = int(np.clip(_WORK / C, _FEWEST_CUTS, _CUTS))
        inner = np.ones(len(steps.times), dtype=bool)
        inner[steps.offsets[1:][steps.lengths > 0] - 1] = False  # nothing follows the last step
        usable = np.flatnonzero(inner)
        piece = max(1.0, len(usable) / most)
        begins = np.arange(0.0, len(usable), piece)
        places = (begins + piece * rng.random(len(begins))).astype(np.int64)
        chosen = usable[np.unique(np.minimum(places, len(usable) - 1))]
        series = np.searchsorted(steps.offsets, chosen, side="right") - 1
        cuts = features.at_steps(steps, chosen, starts, static)
        observations = cuts.past.observations
        whole = observations.at_ends(steps)
        pairs = Pairs(cuts, series, [], [], [], [])
        for place in features.targets:
            first = cuts.past.high[:, place]
            ends = whole.select(series, [place])
            stop = ends.newest((cuts.now + horizon)[:, None], ends.high, first[:, None])[:, 0] + 1
            count = np.maximum(stop - first, 0)
            share = (np.arange(_LATER) + rng.random((len(chosen), _LATER))) / _LATER
            at = first[:, None] + (share * count[:, None]).astype(np.int64)
            rows = np.repeat(np.arange(len(chosen)), _LATER).reshape(-1, _LATER)[count > 0].reshape(-1)
            positions = at[count > 0].reshape(-1)
            times = observations.times[positions]
            pairs.rows.append(rows)
            pairs.times.append(times)
            pairs.truth.append(observations.values[positions])
            pairs.known.append(features.known_later(steps, series[rows], times))
        return pairs


@dataclass(frozen=True, eq=False)
class Questions:
    """What a fold holds out: cuts, and later times at which targets were measured.

    Args:
        cuts: R cuts.
        times: (R, Q) the later times.
        truth: (R, Q, C) the values in standard deviations, NaN where nothing was measured.
        known: (R, Q, K) the known channels at these times.
        latest: (S,) for each training series, the last time that models may be fitted to; -inf for none.
    """

    cuts: Cuts
    times: Values
    truth: Values
    known: Values
    latest: Values


@dataclass(frozen=True, eq=False)
class TargetTable:
    """The training table of one target.

    Args:
        table: (n, p) features.
        own: the number of leading features that describe the target itself.
        growth: the usual moves of the target.
        moves: (n,) by how many usual moves the target left its last value.
        design: (n, p') the terms of a linear model.
    """

    table: Values
    own: int
    growth: Growth
    moves: Values
    design: Values

    @staticmethod
    def by(pairs: Pairs, c: int) -> TargetTable | None:
        """Return the table of one target; None if there are too few pairs."""
        rows, times = pairs.rows[c], pairs.times[c]
        if len(rows) < _LEAST_ROWS:
            return None
        table, own = pairs.cuts.table(c, rows, times, pairs.known[c])
        since, off = pairs.cuts.since(c, rows, times), pairs.truth[c] - pairs.cuts.last(c)[rows]
        growth = Growth.of(since, off)
        moves = np.clip(off / np.maximum(growth.at(since), 1e-6), -_FARTHEST, _FARTHEST)
        return TargetTable(table, own, growth, moves, terms(table, own, hats(growth.knots, since)))

    def models(self, rounds: int, strength: int, seed: int) -> ChannelModels:
        """Return models fitted to the whole table.

        Args:
            rounds: number of boosting rounds.
            strength: index of the linear model's penalty.
            seed: random seed of the trees.
        """
        columns, trees = _boosting(self.table, self.moves, rounds, seed)
        member = TreeMember(
            columns.astype(np.int64), np.empty(0, dtype=np.int64), np.asarray(trees._baseline_prediction).ravel(),
            boosted(trees, rounds),
        )  # fmt: skip
        return ChannelModels(self.growth, member, _ridges(self.design, self.moves)[:, strength], strength)


def fit_lags(pairs: Pairs, folds: Sequence[Questions], seed: int) -> tuple[LagModels, list[Values]]:
    """Fit the models of every target.

    Args:
        pairs: cuts and later values of all training series.
        folds: what each fold holds out of them.
        seed: random seed of the trees.

    Returns:
        the models fitted to all pairs, and for each fold the (R, Q, C, 2) forecasts of models fitted without it, NaN
        where nothing was measured.
    """
    held_out = [np.full((*fold.truth.shape, 2), np.nan) for fold in folds]
    channels = [_fit_channel(pairs, folds, held_out, c, seed) for c in range(len(pairs.rows))]
    return LagModels(tuple(channels)), held_out


def refit_lags(pairs: Pairs, models: LagModels, seed: int) -> LagModels:
    """Return models fitted to other pairs, with the rounds and penalties of earlier models.

    Args:
        pairs: cuts and later values to fit to.
        models: the earlier models.
        seed: random seed of the trees.
    """
    channels: list[ChannelModels | None] = []
    for c, before in enumerate(models.channels):
        target = None if before is None else TargetTable.by(pairs, c)
        if before is None or target is None:
            channels.append(None)
        else:
            channels.append(target.models(len(before.trees.trees.roots), before.strength, seed))
    return LagModels(tuple(channels))


def _fit_channel(
    pairs: Pairs, folds: Sequence[Questions], held_out: list[Values], c: int, seed: int
) -> ChannelModels | None:
    """Return the models of one target, and enter its out-of-fold forecasts in `held_out`."""
    asked = [np.nonzero(~np.isnan(fold.truth[..., c])) for fold in folds]
    for fold, said, (r, q) in zip(folds, held_out, asked, strict=True):
        said[r, q, c] = fold.cuts.last(c)[r][:, None]
    target = TargetTable.by(pairs, c)
    if target is None:
        return None
    paths: list[Path] = []
    most = len(_CHECKPOINTS)
    for number, (fold, (r, q)) in enumerate(zip(folds, asked, strict=True)):
        use = pairs.times[c] <= fold.latest[pairs.series[pairs.rows[c]]]
        if use.sum() < _LEAST_ROWS or len(r) == 0:
            continue
        at = fold.times[r, q]
        table, _ = fold.cuts.table(c, r, at, fold.known[r, q])
        since = fold.cuts.since(c, r, at)
        size = target.growth.at(since)[:, None]
        off = fold.truth[r, q, c] - fold.cuts.last(c)[r]
        at_once = most if paths else _AT_ONCE
        stages = _stages(target.table[use], target.moves[use], table, size, off, (most, at_once), seed)
        weights = _ridges(target.design[use], target.moves[use])
        linear = bounded(terms(table, target.own, hats(target.growth.knots, since)) @ weights)
        paths.append(Path(number, stages, linear * size, off))
        if len(paths) == 1:  # later folds need not go far beyond what is best here
            most = min(int(_losses([stages], [off]).argmin()) + 2, len(_CHECKPOINTS))
    checkpoint, strength = _chosen(paths)
    for path in paths:
        r, q = asked[path.fold]
        said, last = held_out[path.fold], folds[path.fold].cuts.last(c)[r]
        said[r, q, c, 0] = last + path.boosting[:, checkpoint]
        said[r, q, c, 1] = last + path.linear[:, strength]
    return target.models(_CHECKPOINTS[checkpoint], strength, seed)


class Path(NamedTuple):
    """Moves from the last value, forecast by models of one target that were fitted without a fold.

    Args:
        fold: the number of the fold.
        boosting: (n, checkpoints) forecasts of boosting.
        linear: (n, strengths) forecasts of linear models.
        truth: (n,) the moves that were measured.
    """

    fold: int
    boosting: Values
    linear: Values
    truth: Values


def _chosen(paths: Sequence[Path]) -> tuple[int, int]:
    """Return the checkpoint and the strength with the least out-of-fold error."""
    if not paths:
        return 2, 2
    stages, truths = min(path.boosting.shape[1] for path in paths), [path.truth for path in paths]
    boosting = _losses([path.boosting[:, :stages] for path in paths], truths)
    return int(boosting.argmin()), int(_losses([path.linear for path in paths], truths).argmin())


def _losses(forecasts: Sequence[Values], truths: Sequence[Values]) -> Values:
    """Return the mean squared error of each column, over all folds."""
    squares = [((one - truth[:, None]) ** 2).sum(axis=0) for one, truth in zip(forecasts, truths, strict=True)]
    total: Values = np.sum(squares, axis=0) / sum(map(len, truths))
    return total


def _stages(
    table: Values, moves: Values, times: Values, size: Values, truth: Values, checkpoints: tuple[int, int], seed: int
) -> Values:
    """Return the (n, checkpoints) forecasts of boosting at its checkpoints, for as long as it improves.

    Args:
        table: (m, p) features of the training rows.
        moves: (m,) the targets of the training rows.
        times: (n, p) features of the held-out rows.
        size: (n, 1) factor by which predictions are multiplied.
        truth: (n,) the values that the products should have.
        checkpoints: the largest number of checkpoints, and how many are reached before their errors are compared.
        seed: random seed of the trees.
    """
    (most, at_once), reached = checkpoints, 0
    columns, trees = None, None
    while True:
        reached = min(reached + at_once, most)
        if trees is None:
            columns, trees = _boosting(table, moves, _CHECKPOINTS[reached - 1], seed)
            trees.set_params(warm_start=True)
        else:
            trees.set_params(max_iter=_CHECKPOINTS[reached - 1]).fit(table[:, columns], moves)
        rounds = enumerate(trees.staged_predict(times[:, columns]), 1)
        stages: Values = np.stack([stage for done, stage in rounds if done in _CHECKPOINTS], axis=1) * size
        if reached == most or _losses([stages], [truth]).argmin() < reached - 1:
            return stages


def _boosting(table: Values, moves: Values, rounds: int, seed: int) -> tuple[Rows, Any]:
    """Return the columns that are not all NaN, and trees fitted to them."""
    columns = np.flatnonzero(~np.isnan(table).all(axis=0))
    trees = HistGradientBoostingRegressor(
        max_iter=rounds,
        learning_rate=0.06,
        max_features=float(np.clip(16 / max(len(columns), 1), 0.2, 1.0)),
        max_leaf_nodes=24,
        min_samples_leaf=int(np.clip(len(table) / 250, 10, 100)),
        max_bins=127,
        early_stopping=False,
        random_state=seed,
    )
    return columns, trees.fit(table[:, columns], moves)


def _ridges(design: Values, moves: Values) -> Values:
    """Return the (p', strengths) weights of linear models, whose penalty takes the size of each term into account."""
    size = np.sqrt((design**2).mean(axis=0)) + 1e-6
    scaled = design / size
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    side = vectors.T @ (scaled.T @ moves)
    solutions = [vectors @ (side / (np.maximum(values, 0.0) + strength * len(moves))) for strength in _STRENGTHS]
    weights: Values = np.stack(solutions, axis=1) / size[:, None]
    return weights
