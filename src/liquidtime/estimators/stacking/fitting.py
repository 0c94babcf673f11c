"""Fit the parts of a stack, and score them on series that they were not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features import ConvolutionFeatures, RichFeatures, Ridge, Trees
from liquidtime.data import SeriesSet
from liquidtime.distributed import in_processes
from liquidtime.estimators.stacking.folds import Folds
from liquidtime.estimators.stacking.goal import Goal
from liquidtime.estimators.stacking.linear_part import LinearPart
from liquidtime.estimators.stacking.tree_part import TreePart

Floats = npt.NDArray[np.float64]
RICH, CONVOLUTIONS, RUNNING = "rich", "convolutions", "running"
RUNNING_BOOSTING = "boosting on running features"
NETWORKS = "CfC networks"
TABLES = {"boosting": RICH, "extra trees": RICH, "convolutions": CONVOLUTIONS, RUNNING_BOOSTING: RUNNING}
"""Every part that reads features, and the table it reads."""
_MOST_TREES = 2e7
"""Series times features up to which extra trees are grown; beyond, boosting alone is worth its time."""
_SEEDS = 4_000_000
"""Different seeds of trees, which number their folds by a factor of 1000 within 32 bits."""
_HOPELESS = 1.3
"""Networks of no weight on the first fold are given up where their loss is this many times that of the best part."""


@dataclass(frozen=True)
class StackPart:
    """One part of a stack.

    Args:
        name: name of the part.
        weight: weight in the prediction of the stack.
        figures: figures of its out-of-fold predictions, first the loss that determines the weights; empty if the first
            fold showed that it does not help.
    """

    name: str
    weight: float
    figures: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class FeaturePart:
    """A part that reads a table of features: one learner per target.

    Args:
        table: name of the table.
        learners: learners, which return (n, K) probabilities or (n, 1) values each, on the scale of the goal.
    """

    table: str
    learners: tuple[TreePart | LinearPart, ...]

    def predict(self, X: npt.NDArray[Any]) -> Floats:
        """Return (n, W) probabilities or values."""
        return np.concatenate([learner.predict(X) for learner in self.learners], axis=1)


@dataclass(frozen=True, eq=False)
class Table:
    """Features of the training series.

    Args:
        transformer: fitted transformer that computes them.
        X: (S, p) features.
    """

    transformer: Any
    X: npt.NDArray[Any]


def make_tables(data: SeriesSet, seed: int, only: Collection[str] | None = None) -> dict[str, Table]:
    """Return the tables of features by name, those with columns.

    Args:
        data: S training series.
        seed: random seed.
        only: names of the tables to make; None for all.
    """
    transformers: dict[str, Any] = {RICH: RichFeatures(), CONVOLUTIONS: ConvolutionFeatures(random_state=seed)}
    wanted = {name: one for name, one in transformers.items() if only is None or name in only}
    tables = {name: Table(one, one.fit_transform(data)) for name, one in wanted.items()}
    return {name: table for name, table in tables.items() if table.X.shape[1]}


def fit_features(
    tables: Mapping[str, Table], goal: Goal, folds: Folds, seed: int, only: Collection[str] | None = None
) -> tuple[dict[str, FeaturePart], dict[str, Floats]]:
    """Fit every part that reads features.

    Args:
        tables: as `make_tables` returns them.
        goal: the targets.
        folds: (training rows, held-out rows).
        seed: random seed.
        only: names of the parts to fit; None for all.

    Returns:
        The parts by name, and (S, W) their out-of-fold predictions by name, on the scale of the goal.
    """
    parts: dict[str, FeaturePart] = {}
    held_out: dict[str, Floats] = {}
    for table, X in ((name, one.X) for name, one in tables.items()):
        for name in (part for part, own in TABLES.items() if own == table and (only is None or part in only)):
            if name == "extra trees" and X.size > _MOST_TREES:
                continue
            fitted = [_learner(name, goal, seed).fit(X, column, folds, goal.rows) for column in goal.columns()]
            learners = tuple(TreePart.of(one) if isinstance(one, Trees) else LinearPart.of(one) for one in fitted)
            parts[name] = FeaturePart(table, learners)
            held_out[name] = np.concatenate([one.out_of_fold_.reshape(len(X), -1) for one in fitted], axis=1)
    return parts, held_out


def _learner(name: str, goal: Goal, seed: int) -> Trees | Ridge:
    task = "classify" if goal.K else "regress"
    return Ridge(task) if name == CONVOLUTIONS else Trees(name, task, seed % _SEEDS)


def networks_held_out(
    make: Callable[[int], Any],
    data: SeriesSet,
    goal: Goal,
    folds: Folds,
    others: Mapping[str, Floats],
    inputs: Mapping[str, Any],
    n_jobs: int | None = None,
) -> Floats:
    """Return (S, W) out-of-fold predictions of networks; all NaN where the first fold shows that they do not help.

    Args:
        make: maps the number of a fold to a network estimator.
        data: S training series.
        goal: their targets.
        folds: (training rows, held-out rows).
        others: out-of-fold predictions of the other parts.
        inputs: further arguments of the networks' `fit` by name, each with S rows.
        n_jobs: processes in which the folds after the first are trained; see `in_processes`.
    """
    width = goal.K or len(goal.columns())
    predictions = np.full((len(data), width), np.nan)

    def judged(number: int, again: bool) -> Floats:
        train, held = folds[number]
        network = make(number)
        network.fit(data[train], goal.labels(train), **{name: rows[train] for name, rows in inputs.items()})
        return goal.outputs(network, data[held])

    for numbers in (range(1), range(1, len(folds))):  # the first alone, its networks in several processes
        said = in_processes(
            judged,
            numbers,
            n_jobs,
            names=[f"held-out fold {number + 1} of {len(folds)}" for number in numbers],
            stages=(numbers.start + 1, len(folds) + 1),
        )
        for number, one in zip(numbers, said, strict=True):
            predictions[folds[number][1]] = one
        if numbers.start == 0 and _hopeless(goal, predictions, others, folds[0][1]):
            predictions[:] = np.nan
            break
    return predictions


def _hopeless(goal: Goal, own: Floats, others: Mapping[str, Floats], rows: Any) -> bool:
    """Return whether predictions of some series have no weight beside others, and a far larger loss than the best."""
    if not others or goal.weights([own, *others.values()], rows)[0] > 0:
        return False
    losses = []
    for prediction in (own, *others.values()):
        held = np.full_like(prediction, np.nan)
        held[rows] = prediction[rows]
        losses.append(next(iter(goal.figures(held).values())))
    return losses[0] > _HOPELESS * min(losses[1:])
