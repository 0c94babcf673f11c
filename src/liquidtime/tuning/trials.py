"""One trial: networks with its settings, trained on a part of the training series and evaluated on the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from liquidtime.data import SeriesSet
from liquidtime.estimators.network.members import held_back
from liquidtime.training import TrainingDiverged
from liquidtime.training.seeds import derive_seed
from liquidtime.training.tracking import StopTraining, Tracker, tracking
from liquidtime.tuning.space import Space
from liquidtime.tuning.study import (
    ENDED,
    SURPLUS,
    bury_dead,
    claim,
    done,
    is_surplus,
    open_storage,
    open_study,
    optuna_or_refuse,
    sampler_of,
)

HELD_OUT = 0.25
"""Fraction of the training series on which trials are evaluated."""
PIECES = 10
"""Number of points in the one-cycle schedule at which trials are compared, whatever their number of epochs."""
CURVE = "curve"


@dataclass(frozen=True, eq=False)
class Material:
    """The data that trials may use: the training part, and nothing else.

    Args:
        data: S training series.
        target: (S, …) targets; None if the task has none.
        each: `auxiliary` and `sample_weight` of each series, if passed.
        strata: (S,) classes, or None.
        groups: (S,) or None.
        order: (S,) or None.
        model: estimator with the fixed settings; the number of epochs is fixed or in the space.
        space: the search space.
        seed: random seed.
    """

    data: SeriesSet
    target: npt.NDArray[Any] | None
    each: Mapping[str, npt.NDArray[Any]]
    strata: npt.NDArray[Any] | None
    groups: npt.NDArray[Any] | None
    order: npt.NDArray[Any] | None
    model: Any
    space: Space
    seed: int

    def loss(self, trial: Any) -> float:
        """Return the held-out loss of networks with the settings of a trial, at the end of their training.

        Raises:
            TrialPruned: the trial fell behind.

        """
        settings = {name: one.suggested(trial, name) for name, one in self.space.items()}
        model = clone(self.model).set_params(**settings, verbose=False)
        rows, held = held_back(len(self.data), HELD_OUT, self.strata, self.seed, self.groups, self.order)
        if not len(held):
            raise ValueError(
                f"a search needs series to score trials on; {len(self.data)} in the training part are too few"
            )
        each = {name: one[rows] for name, one in self.each.items()}
        watch = _Watch(trial, int(model.epochs))
        with tracking(watch):
            if self.target is None:
                model.fit(self.data[rows], **each, validation=self.data[held])
            else:
                targets = self.target[rows], self.target[held]
                model.fit(self.data[rows], targets[0], **each, validation=(self.data[held], targets[1]))
        losses = [result.history[-1]["val_loss"] for result in model.results_]
        trial.set_user_attr("best_epoch", max((result.best_epoch or 0) + 1 for result in model.results_))
        loss = float(np.mean(losses))
        return loss if math.isfinite(loss) else math.inf


class _Watch(Tracker):
    """Reports the validation loss of the first network during its one-cycle, and stops trials that fall behind."""

    def __init__(self, trial: Any, epochs: int) -> None:
        self._trial, self._epochs, self._network, self._piece = trial, epochs, "", 0
        self._curve: list[float] = []

    def epoch(self, network: str, record: Mapping[str, Any]) -> None:
        """Report an epoch."""
        value = record.get("val_loss")
        if value is None or (self._network and network != self._network):
            return
        self._network = network
        self._curve.append(float(value))
        self._trial.set_user_attr(CURVE, self._curve)
        piece = PIECES * (int(record["epoch"]) + 1) // self._epochs
        for step in range(self._piece, piece):
            self._trial.report(float(value), step)
        self._piece = max(self._piece, piece)
        if piece < PIECES and self._trial.should_prune():
            raise StopTraining("the trial did worse than others")


@dataclass(frozen=True)
class Place:
    """The location of a study, for every worker.

    Args:
        storage: URL of the storage.
        name: name of the study.
        prune: whether trials may be stopped.
        fingerprint: fingerprint of data, settings and space.
        trials: total number of trials.
    """

    storage: str | None
    name: str
    prune: bool
    fingerprint: str
    trials: int


class _Surplus(Exception):
    """There are enough trials without this one."""


def run_slot(material: Material, place: Place, study: Any = None) -> str:
    """Run one trial; return its state: "complete", "pruned", "fail", or "" if there are enough trials already.

    Args:
        material: data for the trial.
        place: location of the study.
        study: the study itself, if this process has it.
    """
    optuna = optuna_or_refuse()
    if study is None:
        study = open_study(open_storage(place.storage), place.name, material.seed, place.prune, place.fingerprint)
        bury_dead(study)
    if done(study) >= place.trials:
        return ""
    numbers: list[int] = []

    def objective(trial: Any) -> float:
        claim(trial)
        if is_surplus(study, trial.number, place.trials):
            trial.set_user_attr(SURPLUS, True)
            raise _Surplus
        numbers.append(trial.number)
        study.sampler = sampler_of(derive_seed(material.seed, 31, trial.number))
        try:
            return material.loss(trial)
        except StopTraining as stop:
            raise optuna.TrialPruned(str(stop)) from None
        except TrainingDiverged:
            trial.set_user_attr(ENDED, True)
            raise

    study.optimize(objective, n_trials=1, catch=(TrainingDiverged, _Surplus))
    ended = [trial for trial in study.get_trials(deepcopy=False) if trial.number in numbers]
    return ended[-1].state.name.lower() if ended else ""
