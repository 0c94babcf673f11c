"""Networks that are trained on their own and answer together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from torch import Tensor, nn

from liquidtime.data import SeriesEncoder
from liquidtime.errors import wrong_shape
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, SeriesBatches
from liquidtime.training import Loss, TrainResult, TrainSettings, isolated_rng, train
from liquidtime.training.seeds import derive_seed

Rows: TypeAlias = npt.NDArray[np.int64]
LossOf: TypeAlias = Callable[[nn.Module, SeriesBatch, Tensor], Loss]
"""Maps (network, batch, target of the whole set) to a loss; the batch's `rows` say which targets are its own."""
PREDICT_BATCH = 256


@dataclass(frozen=True)
class Part:
    """Series with their targets.

    Args:
        prepared: S series.
        target: (S, ...) or, for every step, (N, ...).
    """

    prepared: Prepared
    target: Tensor


PartsOf: TypeAlias = Callable[[SeriesEncoder], tuple[Part, Part | None]]
"""Maps an encoder to the training series and those that choose the best epoch, or None, as it encodes them."""


def held_back(
    S: int, fraction: float, strata: npt.NDArray[Any] | None, seed: int, groups: npt.NDArray[Any] | None = None
) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to hold back, one of round(1 / fraction) folds.

    Args:
        S: number of series.
        fraction: to hold back; with 0, or with fewer series or groups than folds, every row trains.
        strata: (S,) classes that both parts are to have their share of, where each has as many rows as there are
            folds; rarer ones stay at least with some rows to train on.
        seed: of the cut.
        groups: (S,) rows of one group are all trained on or all held back; None if there are none.
    """
    rows = np.arange(S)
    count = max(2, round(1.0 / fraction)) if fraction > 0 else 0
    if count == 0 or count > (S if groups is None else len(np.unique(groups))):
        return rows, rows[:0]
    fair = strata is not None and np.unique(strata, return_counts=True)[1].min() >= count
    kinds = (KFold, StratifiedKFold) if groups is None else (GroupKFold, StratifiedGroupKFold)
    splitter = kinds[int(fair)](count, shuffle=True, random_state=derive_seed(seed, 7, 0) % 2**32)
    train, held = next(splitter.split(rows, strata, groups))
    if strata is not None:
        only = ~np.isin(strata[held], strata[train])
        if groups is not None:
            only = np.isin(groups[held], groups[held][only])
        train, held = np.sort(np.concatenate([train, held[only]])), held[~only]
    return train, held


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
    """Make and train one network; everything random follows from `settings.seed`.

    Args:
        make: makes the network.
        part: the training series.
        rows: those of them to train on.
        validation: series, and which of them, that choose the best epoch; None takes the last.
        loss_of: the loss.
        settings: of the run.
        batch_size: B.
        **run: `folder`, `resume` and `progress` of `liquidtime.training.train`.
    """
    with isolated_rng(settings.seed):
        network = make()
    own: Callable[[Loss], Loss] = getattr(network, "with_own_loss", lambda loss: loss)

    def batches(epoch: int, generator: torch.Generator) -> SeriesBatches:
        return SeriesBatches(part.prepared, batch_size, rows, generator)

    def validate(model: nn.Module) -> dict[str, float]:
        assert validation is not None
        return {"loss": held_loss(model, *validation, loss_of)}

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
    """Return the mean loss of a network on some series of a part; NaN where none of them teaches anything."""
    losses = [loss_of(model, sample, part.target) for sample in SeriesBatches(part.prepared, PREDICT_BATCH, rows)]
    weight = sum(float(loss.weight) for loss in losses)
    return sum(float(loss.total) for loss in losses) / weight if weight else float("nan")


def trial_folder(folder: str | Path | None, trial: int) -> Path | None:
    """Return where the run of one trial of a budget is kept: in a folder of its own inside that of the model."""
    return None if folder is None else Path(folder) / f"trial-{trial}"


def member_folder(folder: str | Path | None, member: int, members: int) -> Path | None:
    """Return where the run of one member is kept: the folder itself, or one inside it for each."""
    if folder is None:
        return None
    return Path(folder) if members == 1 else Path(folder) / f"member-{member}"
