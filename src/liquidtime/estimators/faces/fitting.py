"""Train the networks of an estimator: choose the budget, then train every member with it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.baselines.features.temperature import Calibration
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.distributed import in_processes, in_worker
from liquidtime.estimators.network.auxiliary import WithAuxiliary, beside
from liquidtime.estimators.network.budget import (
    HELD_OUT,
    LEAST_SERIES,
    SEARCH,
    Choice,
    Trial,
    batch_size_of,
    best_of,
    blocks_of,
    quick_epochs,
    search,
    weighed,
)
from liquidtime.estimators.network.front_end import AUTO, FRONT_ENDS, suits, takes_front_end
from liquidtime.estimators.network.members import (
    LossOf,
    Part,
    PartsOf,
    Rows,
    held_back,
    member_folder,
    train_member,
    trial_folder,
)
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.estimators.network.piecewise import ROWS, PiecewiseLinear
from liquidtime.estimators.network.summary import LEAST_LENGTH, SUMMARIES, Summary
from liquidtime.training import TrainingDiverged, TrainResult, TrainSettings
from liquidtime.training.seeds import derive_seed

if TYPE_CHECKING:
    from pathlib import Path

    from liquidtime.estimators.faces.base import SeriesEstimator


@dataclass(frozen=True)
class Problem:
    """The training problem of an estimator's networks.

    Args:
        parts: maps an encoder to the training series and those that choose the best epoch, or None.
        outputs: K, number of outputs.
        loss_of: loss.
        strata: (S,) classes for the folds, or None.
        groups: (S,) group of each series, which folds never split; None for no groups.
        run: `folder` and `resume`.
        outcomes: (S, K) auxiliary targets, standardised, or None.
        order: (S,) date or order of each series, so that networks are scored on later ones; None for no order.
    """

    parts: PartsOf
    outputs: int
    loss_of: LossOf
    strata: npt.NDArray[Any] | None
    groups: npt.NDArray[Any] | None
    run: Mapping[str, Any]
    outcomes: Tensor | None
    order: npt.NDArray[Any] | None = None


class Reading(NamedTuple):
    """Inputs of the networks in training.

    Args:
        parts: training series, and series that choose the best epoch or None.
        pieces: inputs of the read-out besides the states.
    """

    parts: tuple[Part, Part | None]
    pieces: PiecewiseLinear


class Fitting:
    """One call of `fit`.

    Args:
        model: estimator with its seed and fitted encoders.
        problem: training problem.
    """

    def __init__(self, model: SeriesEstimator, problem: Problem) -> None:
        self.model, self.problem = model, problem
        self._summaries: dict[str, tuple[Summary, npt.NDArray[np.float32]]] = {}
        self._readings: dict[str | None, Reading] = {}
        self.encoder = model.encoder_
        self._read_by(self.encoder)

    def _read_by(self, encoder: SeriesEncoder, summary: str | None = None) -> None:
        """Set the inputs of the networks: the series from this encoder, with or without a summary."""
        if self.encoder is not encoder:
            self._readings = {}
        self.encoder = encoder
        if summary not in self._readings:
            parts = self._readings[None].parts if None in self._readings else self.problem.parts(encoder)
            self._readings[summary] = self._reading(parts, summary)
        self.summary = summary
        (self.part, self.validation), self.pieces = self._readings[summary]

    def _reading(self, parts: tuple[Part, Part | None], summary: str | None) -> Reading:
        if summary is not None:
            train, judges = parts
            one, table = self._summary_of(summary, train.prepared.data)
            train = replace(train, prepared=train.prepared.beside(one, table))
            parts = train, None if judges is None else replace(judges, prepared=judges.prepared.beside(one))
        pieces = PiecewiseLinear.fitted(parts[0].prepared.seen_by_read_out(ROWS), self.model._deviation)
        return Reading(parts, pieces)

    def _summary_of(self, name: str, data: SeriesSet) -> tuple[Summary, npt.NDArray[np.float32]]:
        """Return the summary of whole series, fitted once to the training series, and its values for them."""
        if name not in self._summaries:
            self._summaries[name] = Summary.fitted(data)
        return self._summaries[name]

    def run(self) -> None:
        """Choose the budget, and train every member."""
        model, problem = self.model, self.problem
        model.trials_ = self._trials()
        S, members = len(self.part.prepared), model.n_estimators
        best = best_of(model.trials_, self._quick(np.arange(S)))
        chosen = best.choice if best is not None and math.isfinite(best.loss) else None
        model._calibrate(Calibration() if best is None else best.calibration)
        model.choice_ = chosen or self._quick(np.arange(S))
        if model.choice_.front_end is not None:
            model.encoders_ = model.encoders_[:1]  # it makes steps of several samples by itself
        model.front_end_ = model.choice_.front_end
        self._read_by(model.encoder_, model.choice_.summary)
        model.summary_ = self.part.prepared.summary
        trained = in_processes(
            self._member,
            range(members),
            model.n_jobs,
            names=[f"network {member + 1} of {members}" for member in range(members)],
            folder=problem.run.get("folder"),
            show=bool(model.verbose),
        )
        model.networks_ = [network for network, _ in trained]
        model.results_ = [result for _, result in trained]

    def _member(self, member: int, again: bool) -> tuple[SeriesNetwork, TrainResult]:
        """Train one member; `again` if a process died while training it, perhaps after a checkpoint."""
        model, members = self.model, self.model.n_estimators
        self._read_by(model._encoder_of(member), model.choice_.summary)
        judged = None
        if self.validation is not None:
            judged = (self.validation, np.arange(len(self.validation.prepared)))
        folder = member_folder(self.problem.run.get("folder"), member, members)
        return self._trained(member, np.arange(len(self.part.prepared)), judged, model.choice_, folder, again)

    def _quick(self, rows: Rows) -> Choice:
        """Return the budget from the estimator's own settings."""
        model = self.model
        batch_size = model.batch_size or batch_size_of(len(rows))
        rate = model._learning_rate if model.learning_rate is None else model.learning_rate
        front_end, summary = (None if each == AUTO else each for each in (model.front_end, model.summary))
        return Choice(model.epochs or quick_epochs(len(rows), batch_size), rate, front_end, summary)

    def _front_ends(self) -> tuple[str | None, ...]:
        """Return the front ends to choose from, in the order of the trials."""
        model = self.model
        if model.front_end != AUTO:
            return (model.front_end,)
        offered = takes_front_end(model.network) and not self.part.prepared.every_step
        return (None, *FRONT_ENDS) if offered and suits(self.part.prepared) else (None,)

    def _offered_summaries(self) -> tuple[str | None, ...]:
        """Return the summaries to choose from."""
        if self.model.summary != AUTO:
            return (self.model.summary,)
        prepared = self.part.prepared
        offered = suits(prepared, LEAST_LENGTH) and not prepared.every_step and prepared.kept_whole
        return (None, *SUMMARIES) if offered else (None,)

    def _trials(self) -> list[Trial]:
        """Run the trials of the budget on a held-out fold; none if there is nothing to choose, or no fold."""
        model, problem = self.model, self.problem
        if model._tried is not None:
            return model._tried
        asked = model.budget == SEARCH and model.epochs is None and model.learning_rate is None
        S = len(self.part.prepared)
        if self.validation is not None or not asked or S < LEAST_SERIES:
            return []
        seed = derive_seed(model.seed_, 13)
        rows, held = held_back(S, HELD_OUT, problem.strata, seed, problem.groups, problem.order)
        if not len(held):
            return []
        blocks = blocks_of(held, problem.groups)
        samples = weighed(int(self.part.prepared.offsets[-1]), self.encoder.input_size_)

        def attempt(numbered: tuple[int, Choice], again: bool) -> Trial:
            number, choice = numbered
            folder = trial_folder(problem.run.get("folder"), number)
            self._read_by(self.encoder, choice.summary)
            try:
                network, _ = self._trained(0, rows, None, choice, folder, again)
            except TrainingDiverged:
                return Trial(choice, math.inf)
            with torch.inference_mode():
                loss, calibration = model._judged(network, self.part, held, problem)
                each = tuple(model._block_loss(network, self.part, rows, problem, calibration) for rows in blocks)
            return Trial(choice, loss if math.isfinite(loss) else math.inf, calibration, each)

        quick = self._quick(np.arange(S)).epochs

        def attempts(first: int, choices: Sequence[Choice]) -> list[Trial]:
            return in_processes(
                attempt,
                list(enumerate(choices, first)),
                model.n_jobs,
                names=[f"trial {number + 1}" for number in range(first, first + len(choices))],
                stages=(first, 0),
                folder=problem.run.get("folder"),
                show=bool(model.verbose),
            )

        offered = self._front_ends(), self._offered_summaries()
        return search(quick, samples, model.n_estimators, *offered, attempts)

    def _trained(
        self,
        member: int,
        rows: Rows,
        judged: tuple[Part, Rows] | None,
        choice: Choice,
        folder: Path | None,
        again: bool = False,
    ) -> tuple[SeriesNetwork, TrainResult]:
        model, problem = self.model, self.problem
        settings = TrainSettings(
            epochs=choice.epochs,
            seed=derive_seed(model.seed_, member) % 2**31,
            learning_rate=choice.learning_rate,
            weight_decay=model.weight_decay,
            schedule="one_cycle",
            clip_norm=1.0,
            patience=model.patience if judged is not None else 0,
        )
        learner, result = train_member(
            functools.partial(self._learner, choice),
            self.part,
            rows,
            judged,
            problem.loss_of if problem.outcomes is None else beside(problem.loss_of),
            settings,
            model.batch_size or batch_size_of(len(rows)),
            folder=folder,
            resume=folder is not None and (again or bool(problem.run.get("resume", False))),
            progress=bool(model.verbose) and not in_worker(),
        )
        network = learner.network if isinstance(learner, WithAuxiliary) else learner
        return cast(SeriesNetwork, network), result

    def _learner(self, choice: Choice) -> SeriesNetwork | WithAuxiliary:
        """Return the network to train, which also predicts the auxiliary targets, if any."""
        self.model.front_end_ = choice.front_end
        network = self.model._make_network(self.problem.outputs, self.encoder, self.pieces)
        return network if self.problem.outcomes is None else WithAuxiliary(network, self.problem.outcomes)
