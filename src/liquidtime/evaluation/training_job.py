"""Decide what is trained and tested, before anything is computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from liquidtime.data import SeriesSet
from liquidtime.errors import nearest
from liquidtime.estimators.files.model_config import stored_params
from liquidtime.estimators.stacking import StackedForecaster
from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.evaluation.hold_out import Rows
from liquidtime.evaluation.insight import Neighbours
from liquidtime.evaluation.split import Split, SplitRequest, split_series
from liquidtime.tasks import Comparison, Task, find_task, infer_task, task_of
from liquidtime.tasks.comparison import figures_of
from liquidtime.tasks.per_sample import by_series

_LABELS = {"cfc": "CfC", "ltc": "LTC"}
"""Titles of networks in tables, if they differ from the names in settings."""


@dataclass(frozen=True, eq=False)
class JobInputs:
    """Inputs of a job besides the series.

    Args:
        target: (S,) or (S, K) targets; None if the task has none.
        auxiliary: (S, …) auxiliary targets, or None.
        weights: (S,) weight of each series in training, or None.
    """

    target: npt.NDArray[Any] | None = None
    auxiliary: npt.NDArray[Any] | None = None
    weights: npt.NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """A model with the series to train it on and those to test it on.

    Args:
        task: task.
        reason: why this task was chosen, as text; "" if it was requested.
        model: estimator, not fitted yet.
        data: all S series, complete.
        inputs: their inputs.
        split: their split.
        refit: whether the model is fitted to all series after the test.
        seed: random seed of the baselines and of the bootstrap.
    """

    task: Task
    reason: str
    model: Any
    data: SeriesSet
    inputs: JobInputs
    split: Split
    refit: bool
    seed: int

    @staticmethod
    def planned(
        data: SeriesSet,
        inputs: JobInputs,
        task: str | Task | None,
        estimator: Any,
        request: SplitRequest,
        refit: bool,
        seed: int,
        settings: Mapping[str, Any],
        quick: bool = False,
    ) -> TrainingJob:
        """Check all arguments, which are those of `train_and_test`, and split the series."""
        chosen, reason, y = _choose_task(task, estimator, inputs.target, data)
        y = chosen.check_target(y, len(data))
        model = _make_model(chosen, estimator, settings, seed, quick)
        if inputs.auxiliary is not None and not chosen.takes_auxiliary:
            raise ValueError(f"`auxiliary` is not for the task {chosen.name!r}")
        if inputs.weights is not None and not has_fit_parameter(model, "sample_weight"):
            raise ValueError(f"`sample_weight` is not for the task {chosen.name!r}")
        if chosen.in_time and request.folds is not None:
            raise ValueError(
                f"`folds` are not for the task {chosen.name!r}; test by time with `test_after`, or on a share of the "
                "series"
            )
        if request.folds is not None and not refit:
            raise ValueError("with `folds`, no single tested model exists to save; leave out refit=False")
        strata = None if y is None else chosen.strata(y)
        split = split_series(data, request, seed, strata, chosen.in_time, chosen.in_pieces)
        if split.cut:
            assert y is None
        checked = JobInputs(y, inputs.auxiliary, inputs.weights)
        return TrainingJob(chosen, reason, model, data, checked, split, refit, seed)

    @property
    def name(self) -> str:
        """Title of the model in tables: its network and the number of networks, or that it is a stack."""
        if isinstance(self.model, StackedEstimator | StackedForecaster):
            return "stacked model"
        params = self.model.get_params(deep=False)
        network = params.get("network", type(self.model).__name__)
        if not isinstance(network, str):
            network = getattr(network, "__name__", type(network).__name__)
        members = params.get("n_estimators", 1)
        name = _LABELS.get(network, network)
        return f"{name}, {members} networks" if members > 1 else name

    @property
    def parts(self) -> dict[str, Rows]:
        """Rows of the series that are trained on and tested on; with folds, all of them are in both."""
        folds = self.split.folds
        if not folds:
            return {"training": np.arange(len(self.data)), "test": np.empty(0, dtype=np.int64)}
        train, test = (np.unique(np.concatenate([fold[side] for fold in folds])) for side in (0, 1))
        return {"training": train, "test": test}

    def _part(self, rows: Rows) -> tuple[SeriesSet, Any]:
        target = self.inputs.target
        return self.split.data[rows], None if target is None else target[rows]

    def fit(self, model: Any, rows: Rows | None, **run: Any) -> Any:
        """Train a model on some series and return it.

        Args:
            model: estimator that is not fitted; if `rows` is None, it may be fitted, and its choices are kept.
            rows: rows of the split's series; None for all series, complete.
            **run: `folder` and `resume` of the estimator's `fit`.
        """
        inputs, split = self.inputs, self.split
        each = {"auxiliary": inputs.auxiliary, "sample_weight": inputs.weights}
        if not split.cut:
            each |= {"groups": split.groups, "order": split.order}
        known = {name: array for name, array in each.items() if array is not None and has_fit_parameter(model, name)}
        if rows is not None:
            part = self._part(rows)
            return model.fit(*part, **{name: array[rows] for name, array in known.items()}, **run)
        if hasattr(model, "refit") and hasattr(model, "n_series_"):
            return model.refit(self.data, inputs.target, **known, **run)
        return self.unfitted().fit(self.data, inputs.target, **known, **run)

    def neighbours(self, model: Any, rows: Rows | None) -> Neighbours:
        """Return series as points of a model that was fitted to them, with one target each, if they have one.

        Args:
            model: fitted model.
            rows: rows of the split's series; None for all series, complete.
        """
        data, target = (self.data, self.inputs.target) if rows is None else self._part(rows)
        known = None if target is None or np.shape(target) != (len(data),) or target.dtype.kind == "O" else target
        return Neighbours.of(model, data, known, seed=self.seed)

    def unfitted(self) -> Any:
        """Return an unfitted model with the settings of the job."""
        return clone(self.model)

    def compare(self, model: Any, train: Rows, test: Rows) -> Comparison:
        """Test a fitted model and the baselines on these rows."""
        comparison = self.task.compare(model, self.name, self._part(train), self._part(test), self.seed)
        groups = self.split.groups
        if groups is None:
            return comparison
        if comparison.error_series is not None:
            own = groups[test][comparison.error_series]
            return replace(comparison, figures=figures_of(comparison.errors, self.seed, own), error_groups=own)
        owners = groups[test] if comparison.clusters is None else groups[test][comparison.clusters]
        figures = self.task.pool([comparison], self.seed, owners).figures
        return replace(comparison, figures=figures, clusters=owners)

    def fingerprint(self) -> str:
        """Return the sha256 of series, parts and settings, which must be the same for an interrupted run to resume."""
        settings = stored_params(self.model.get_params(deep=False)) | {"verbose": None}  # it does not change any result
        digest = hashlib.sha256(
            json.dumps(
                [self.task.name, type(self.model).__name__, settings, self.refit], sort_keys=True, default=repr
            ).encode()
        )
        data, parts = self.split.data, [rows for fold in self.split.folds for rows in fold]
        inputs, more = self.inputs, (self.split.groups, self.split.order)
        for array in (data.offsets, data.static, *parts):
            digest.update(np.ascontiguousarray(array).tobytes())
        for _, some in data.blocks():
            digest.update(some.times.tobytes())
            digest.update(np.ascontiguousarray(some.values).tobytes())
        for given in (inputs.target, inputs.auxiliary, inputs.weights, *more):
            digest.update(repr(None if given is None else _lists(given)).encode())
        return digest.hexdigest()


def _lists(array: npt.NDArray[Any]) -> list[Any]:
    """Return an array as lists, even if its entries are arrays."""
    return [item.tolist() if isinstance(item, np.ndarray) else item for item in array.tolist()]


def _choose_task(task: str | Task | None, estimator: Any, target: Any, data: SeriesSet) -> tuple[Task, str, Any]:
    """Return the task, why it was chosen if it was not requested, and the target in the form of the task."""
    if estimator is not None:
        own = task_of(estimator)
        if task is not None and find_task(task) is not own:
            raise ValueError(f"`estimator` must solve the task {find_task(task).name!r}; this one solves {own.name!r}")
        return own, "", own.bring(target, data)
    if task is not None:
        chosen = find_task(task)
        return chosen, "", chosen.bring(target, data)
    target = by_series(target, data)
    chosen, reason = infer_task(target)
    return chosen, reason, chosen.bring(target, data)


def _make_model(task: Task, estimator: Any, settings: Mapping[str, Any], seed: int, quick: bool) -> Any:
    """Return the estimator to fit, with the seed, unless it has a seed of its own."""
    if estimator is None:
        kind = task.estimator_for(settings, quick)
        unknown = task.unknown_settings(settings, quick)
        if unknown:
            hint = nearest(unknown[0], kind._get_param_names()) or "."
            raise TypeError(f"{kind.__name__} has no setting `{unknown[0]}`{hint}")
        model = task.make(settings, quick)
    else:
        if settings:
            raise TypeError(f"`estimator` already has its settings; leave out {', '.join(settings)}")
        if quick:
            raise TypeError("`quick` chooses the task's own estimator; leave it out if you give `estimator`")
        model = clone(estimator)
    task.check_estimator(model)
    if model.get_params(deep=False).get("random_state", seed) is None:
        model.set_params(random_state=seed)
    return model
