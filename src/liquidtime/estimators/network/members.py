"""Networks that are trained on their own and answer together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.model_selection import KFold, StratifiedKFold
from torch import Tensor, nn

from liquidtime.data import SeriesEncoder
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


def folds(
    S: int, fraction: float, members: int, strata: npt.NDArray[Any] | None, seed: int
) -> Iterator[tuple[Rows, Rows]]:
    """Yield (rows to train on, rows to validate on) for each member of an ensemble.

    The series are cut into round(1 / fraction) folds, of which each member takes another to validate on, so that
    together the members train on every series; when the folds are used up they are cut anew.

    Args:
        S: number of series.
        fraction: to validate on; with 0, or with fewer series than folds, every row trains.
        members: how many.
        strata: (S,) classes that each fold is to have its share of, where each has as many rows as there are folds.
        seed: of the cuts.
    """
    rows = np.arange(S)
    count = max(2, round(1.0 / fraction)) if fraction > 0 else 0
    if count == 0 or count > S:
        for _ in range(members):
            yield rows, rows[:0]
        return
    fair = strata is not None and np.unique(strata, return_counts=True)[1].min() >= count
    for turn in range(0, members, count):
        state = derive_seed(seed, 7, turn) % 2**32
        splitter = (StratifiedKFold if fair else KFold)(count, shuffle=True, random_state=state)
        cuts = list(splitter.split(rows, strata))
        yield from cuts[: members - turn]


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
        held, held_rows = validation
        losses = [
            loss_of(model, sample, held.target) for sample in SeriesBatches(held.prepared, PREDICT_BATCH, held_rows)
        ]
        weight = sum(float(loss.weight) for loss in losses)
        return {"loss": sum(float(loss.total) for loss in losses) / weight if weight else float("nan")}

    result = train(
        network,
        lambda model, batch: own(loss_of(model, batch, part.target)),
        batches,
        settings,
        validate=None if validation is None else validate,
        **run,
    )
    return network.eval(), result


def member_folder(folder: str | Path | None, member: int, members: int) -> Path | None:
    """Return where the run of one member is kept: the folder itself, or one inside it for each."""
    if folder is None:
        return None
    return Path(folder) if members == 1 else Path(folder) / f"member-{member}"
