"""What is trained and tested, decided before anything is computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from liquidtime.data import SeriesSet
from liquidtime.errors import nearest
from liquidtime.estimators.files.model_config import stored_params
from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.evaluation.hold_out import FEWEST, hold_out, hold_out_ends
from liquidtime.tasks import Comparison, Task, find_task, infer_task, task_of

_LABELS = {"cfc": "CfC", "ltc": "LTC"}
"""Networks that tables write otherwise than settings do."""


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """A model with the series that it is trained on and those that it is tested on.

    Args:
        task: what is predicted.
        reason: why this task was taken, in words; "" where it was asked for.
        model: the estimator, not fitted yet.
        data: all S series.
        target: (S,) or (S, K) their targets; None where the task has none.
        auxiliary: (S, …) auxiliary targets, or None.
        parts: rows of the data by part, "training" and "test".
        seed: random seed of rivals and resamples.
    """

    task: Task
    reason: str
    model: Any
    data: SeriesSet
    target: npt.NDArray[Any] | None
    auxiliary: npt.NDArray[Any] | None
    parts: Mapping[str, npt.NDArray[np.int64]]
    seed: int

    @staticmethod
    def planned(
        data: SeriesSet,
        target: Any,
        task: str | Task | None,
        auxiliary: Any,
        estimator: Any,
        test_share: float,
        seed: int,
        settings: Mapping[str, Any],
        quick: bool = False,
    ) -> TrainingJob:
        """Check everything and split the series; arguments as of `train_and_test`."""
        if not isinstance(data, SeriesSet):
            raise TypeError(f"`data` must be a SeriesSet, as SeriesSet.from_arrays makes it; got {type(data).__name__}")
        y = _plain(target)
        chosen, reason = _choose_task(task, estimator, y)
        y = chosen.check_target(y, len(data))
        model = _make_model(chosen, estimator, settings, seed, quick)
        if not chosen.has_target and len(data) < FEWEST:
            data, train, test = hold_out_ends(data, test_share)
        else:
            train, test = hold_out(len(data), test_share, seed, None if y is None else chosen.strata(y))
        extra = None
        if auxiliary is not None:
            if not chosen.takes_auxiliary:
                raise ValueError(f"`auxiliary` is not for the task {chosen.name!r}")
            extra = np.asarray(_plain(auxiliary))
            if extra.ndim == 0 or len(extra) != len(data):
                raise ValueError(f"`auxiliary` must have one row per series, {len(data)}; got shape {extra.shape}")
        return TrainingJob(chosen, reason, model, data, y, extra, {"training": train, "test": test}, seed)

    @property
    def name(self) -> str:
        """What tables call the model: its network, and how many there are; or that it is a stack."""
        if isinstance(self.model, StackedEstimator):
            return "stacked model"
        params = self.model.get_params(deep=False)
        network = params.get("network", type(self.model).__name__)
        if not isinstance(network, str):
            network = getattr(network, "__name__", type(network).__name__)
        members = params.get("n_estimators", 1)
        name = _LABELS.get(network, network)
        return f"{name}, {members} networks" if members > 1 else name

    def part(self, name: str) -> tuple[SeriesSet, Any]:
        """Return the series of a part with their targets."""
        rows = self.parts[name]
        return self.data[rows], None if self.target is None else self.target[rows]

    def fit(self, **run: Any) -> None:
        """Train on the training part.

        Args:
            **run: `folder` and `resume` of the estimator's `fit`.
        """
        auxiliary = {} if self.auxiliary is None else {"auxiliary": self.auxiliary[self.parts["training"]]}
        self.model.fit(*self.part("training"), **auxiliary, **run)

    def compare(self) -> Comparison:
        """Test the fitted model and its rivals on the test part."""
        return self.task.compare(self.model, self.name, self.part("training"), self.part("test"), self.seed)

    def fingerprint(self) -> str:
        """Return the sha256 of the training part and the settings: a stopped run continues with the same alone."""
        settings = stored_params(self.model.get_params(deep=False)) | {"verbose": None}  # it changes no number
        digest = hashlib.sha256(
            json.dumps([self.task.name, type(self.model).__name__, settings], sort_keys=True, default=repr).encode()
        )
        rows = self.parts["training"]
        for array in (self.data.offsets, self.data.times, self.data.values, self.data.static, rows):
            digest.update(np.ascontiguousarray(array).tobytes())
        for targets in (self.target, self.auxiliary):
            digest.update(repr(None if targets is None else targets.tolist()).encode())
        return digest.hexdigest()


def _choose_task(task: str | Task | None, estimator: Any, target: Any) -> tuple[Task, str]:
    """Return the task and, where nobody named it, why it was taken."""
    if estimator is None:
        return infer_task(target) if task is None else (find_task(task), "")
    own = task_of(estimator)
    if task is not None and find_task(task) is not own:
        raise ValueError(f"`estimator` must solve the task {find_task(task).name!r}; this one solves {own.name!r}")
    return own, ""


def _make_model(task: Task, estimator: Any, settings: Mapping[str, Any], seed: int, quick: bool) -> Any:
    """Return the estimator to fit, with the seed where it has none of its own."""
    if estimator is None:
        kind = task.estimator_for(settings, quick)
        unknown = task.unknown_settings(settings, quick)
        if unknown:
            hint = nearest(unknown[0], kind._get_param_names()) or "."
            raise TypeError(f"{kind.__name__} has no setting `{unknown[0]}`{hint}")
        model = kind(**settings)
    else:
        if settings:
            raise TypeError(f"settings are those of `estimator` already; leave out {', '.join(settings)}")
        if quick:
            raise TypeError("`quick` chooses the task's own estimator; leave it out beside `estimator`")
        model = clone(estimator)
    task.check_estimator(model)
    if model.get_params(deep=False).get("random_state", seed) is None:
        model.set_params(random_state=seed)
    return model


def _plain(values: Any) -> Any:
    return values.to_numpy() if hasattr(values, "to_numpy") else values
