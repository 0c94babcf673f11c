"""An ensemble: networks trained independently, whose predictions are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from torch import Tensor, nn

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.container import flat_rows
from liquidtime.errors import wrong_shape
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, SeriesBatches
from liquidtime.training import Loss, TrainResult, TrainSettings, isolated_rng, train
from liquidtime.training.devices import placed
from liquidtime.training.ranks import current
from liquidtime.training.seeds import derive_seed

Rows: TypeAlias = npt.NDArray[np.int64]
LossOf: TypeAlias = Callable[[nn.Module, SeriesBatch, Tensor], Loss]
"""Maps (network, batch, target of the whole set) to a loss; the batch's `rows` are the rows of its targets."""
PREDICT_BATCH = 256


@dataclass(frozen=True)
class Part:
    """Series with their targets.

    Args:
        prepared: S series.
        target: (S, ...) or, for every step, (N, ...), on the host.
    """

    prepared: Prepared
    target: Tensor


PartsOf: TypeAlias = Callable[[SeriesEncoder], tuple[Part, Part | None]]
"""Maps an encoder to the training series and those that choose the best epoch, or None, as it encodes them."""


def folds(
    S: int,
    fraction: float,
    members: int,
    strata: npt.NDArray[Any] | None,
    seed: int,
    groups: npt.NDArray[Any] | None = None,
    order: npt.NDArray[Any] | None = None,
) -> Iterator[tuple[Rows, Rows]]:
    """Yield (rows to train on, rows to hold out) for each of several members.

    The series are cut into round(1 / fraction) folds, of which each member holds out another, so that together they
    train on every series; when the folds are used up they are cut anew.

    Args:
        S: number of series.
        fraction: to validate on; with 0, or with fewer series or groups than folds, every row trains.
        members: how many.
        strata: (S,) classes that each fold is to have its share of, where each has as many rows as there are folds.
        seed: of the cuts.
        groups: (S,) rows of one group are all trained on or all validated on; None if there are none.
        order: (S,) when each series was taken: every member validates on the latest ones, and trains on earlier ones
            of other groups; None for none.
    """
    rows = np.arange(S)
    count = max(2, round(1.0 / fraction)) if fraction > 0 else 0
    if count == 0 or count > (S if groups is None else len(np.unique(groups))):
        for _ in range(members):
            yield rows, rows[:0]
        return
    if order is not None:
        for _ in range(members):
            yield _latest(order, fraction, groups)
        return
    fair = strata is not None and np.unique(strata, return_counts=True)[1].min() >= count
    for turn in range(0, members, count):
        state = derive_seed(seed, 7, turn) % 2**32
        kinds = (KFold, StratifiedKFold) if groups is None else (GroupKFold, StratifiedGroupKFold)
        splitter = kinds[int(fair)](count, shuffle=True, random_state=state)
        cuts = list(splitter.split(rows, strata, groups))
        yield from cuts[: members - turn]


def held_back(
    S: int,
    fraction: float,
    strata: npt.NDArray[Any] | None,
    seed: int,
    groups: npt.NDArray[Any] | None = None,
    order: npt.NDArray[Any] | None = None,
) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to hold back, one fold of `folds`.

    Arguments as there. A class that would be left with no row to train on is not held back, nor are its groups; in an
    order of time it is.
    """
    train, held = next(folds(S, fraction, 1, strata, seed, groups, order))
    if strata is not None and order is None:
        only = ~np.isin(strata[held], strata[train])
        if groups is not None:
            only = np.isin(groups[held], groups[held][only])
        train, held = np.sort(np.concatenate([train, held[only]])), held[~only]
    return train, held


def target_rows(data: SeriesSet, rows: Rows, per_step: bool) -> Rows:
    """Return which rows of the targets of a set are those of some series; with `per_step` each sample has one."""
    return flat_rows(data.offsets, rows) if per_step else rows


def _latest(order: npt.NDArray[Any], fraction: float, groups: npt.NDArray[Any] | None) -> tuple[Rows, Rows]:
    """Return the earlier rows and the latest ones, about a fraction of all; rows of one time stay together."""
    edge = np.sort(order)[len(order) - max(1, round(fraction * len(order)))]
    held = order >= edge
    if held.all():  # all of one time
        return np.arange(len(order)), np.empty(0, dtype=np.int64)
    early = ~held if groups is None else ~held & ~np.isin(groups, groups[held])
    if not early.any():
        return np.arange(len(order)), np.empty(0, dtype=np.int64)
    return np.flatnonzero(early), np.flatnonzero(held)


def order_of(order: Any, S: int) -> npt.NDArray[Any] | None:
    """Return (S,) the place of each series among the sorted times at which they were taken, or None without any.

    Raises:
        ValueError: another number of them than of series, or times that are not known.

    """
    if order is None:
        return None
    table = np.asarray(order.to_numpy() if hasattr(order, "to_numpy") else order)
    if table.shape != (S,):
        raise wrong_shape("order", "(S,)", [S], table.shape, "One time per series.")
    if table.dtype.kind in "fM" and np.isnan(table).any():
        raise ValueError(f"`order` must have a value for every series; {int(np.isnan(table).sum())} are not")
    codes: npt.NDArray[Any] = np.unique(table, return_inverse=True)[1]
    return codes


def groups_of(groups: Any, S: int) -> npt.NDArray[Any] | None:
    """Return (S,) the group of each series as a whole number from 0, or None where none are given.

    Raises:
        ValueError: another number of them than of series.

    """
    if groups is None:
        return None
    table = np.asarray(groups.to_numpy() if hasattr(groups, "to_numpy") else groups)
    if table.shape != (S,):
        raise wrong_shape("groups", "(S,)", [S], table.shape, "One group per series.")
    codes: npt.NDArray[Any] = np.unique(table.astype(str) if table.dtype == object else table, return_inverse=True)[1]
    return codes


def train_member(
    make: Callable[[], nn.Module],
    part: Part,
    rows: Rows,
    validation: tuple[Part, Rows] | None,
    loss_of: LossOf,
    settings: TrainSettings,
    batch_size: int,
    **run: Any,
) -> tuple[nn.Module, TrainResult]:
    """Create and train one network; all random numbers depend on `settings.seed`.

    Args:
        make: makes the network.
        part: the training series.
        rows: those of them to train on.
        validation: series, and which of them, that choose the best epoch; None takes the last.
        loss_of: the loss.
        settings: of the run.
        batch_size: B.
        **run: `folder`, `resume` and `progress` of `liquidtime.training.train`.

    Returns:
        the network, on the CPU wherever it was trained: on the device of the series; and what came of the run.
    """
    with isolated_rng(settings.seed):
        network = make()
    own: Callable[[Loss], Loss] = getattr(network, "with_own_loss", lambda loss: loss)

    def batches(epoch: int, generator: torch.Generator) -> SeriesBatches:
        return SeriesBatches(part.prepared, batch_size, rows, generator, current())

    def validate(model: nn.Module) -> dict[str, float]:
        assert validation is not None
        return {"loss": held_loss(model, *validation, loss_of)}

    with placed(network, part.prepared.device):
        result = train(
            network,
            lambda model, batch: own(loss_of(model, batch, part.target)),
            batches,
            settings,
            validate=None if validation is None else validate,
            **run,
        )
    return network.eval(), result


def held_loss(model: nn.Module, part: Part, rows: Rows, loss_of: LossOf) -> float:
    """Return the mean loss of a network on series of a part; NaN if none of them has a known target."""
    ranks, batches = current(), SeriesBatches(part.prepared, PREDICT_BATCH, rows)
    with placed(model, part.prepared.device):
        losses = [loss_of(model, sample, part.target) for sample in batches.dealt(ranks)]
    sums = [sum(float(loss.total) for loss in losses), sum(float(loss.weight) for loss in losses)]
    total, weight = ranks.sum(torch.tensor(sums, dtype=torch.float64)).tolist()
    return total / weight if weight else float("nan")


def trial_folder(folder: str | Path | None, trial: int) -> Path | None:
    """Return the folder of the run of one trial of a budget, inside that of the model."""
    return None if folder is None else Path(folder) / f"trial-{trial}"


def member_folder(folder: str | Path | None, member: int, members: int) -> Path | None:
    """Return the folder of the run of one member: the folder itself, or one subfolder per member."""
    if folder is None:
        return None
    return Path(folder) if members == 1 else Path(folder) / f"member-{member}"
