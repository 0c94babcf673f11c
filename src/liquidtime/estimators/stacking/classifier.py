from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.class_labels import checked_labels
from liquidtime.estimators.faces.classifier import CfCClassifier
from liquidtime.estimators.faces.threshold import (
    ThresholdRule,
    check_two_classes,
    choose_threshold,
    decided,
    read_threshold,
    stored_threshold,
)
from liquidtime.estimators.stacking.base import Floats, StackedEstimator
from liquidtime.estimators.stacking.goal import Classes, Goal


class StackedClassifier(ClassifierMixin, StackedEstimator):  # type: ignore[misc]
    """Predict the class of each irregular series with several models that make different errors.

        StackedClassifier().fit(data, y).predict_proba(new)

    The parts are CfC networks at several time scales, gradient boosting and extra trees on features of each series,
    and, for dense series, ridge regression on convolutions. Each part predicts training series that it was not fitted
    to. The weights of the parts, which are at least 0 and sum to 1, minimise the log loss of these predictions, as does
    the temperature of the final probabilities; if there are few series and little gain, probabilities are drawn towards
    the class frequencies. Then the networks are fitted to all series; the trees of all folds are averaged. Parts with
    weight 0 are left out, except the networks, which are kept for comparison.

    Args:
        n_networks: number of CfC networks, which use the time scales in turn.
        n_splits: number of folds, in which parts are scored on series that they were not fitted to; None: 5, or 3 for
            networks on many series.
        threshold: for two classes, the probability of the second from which `predict` returns it, or the criterion by
            which it is chosen out of fold, as for `CfCClassifier`. None predicts the more probable class.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core;
            see `CfCClassifier`.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda", "mps" or "auto";
            see `CfCClassifier`.
        verbose: whether to show a progress line while networks are trained.

    Attributes:
        classes_: (C,) the classes, sorted.
        parts_: name, weight and out-of-fold figures of each part.
        figures_: out-of-fold figures of the stack.
        calibration_: the temperature of its probabilities, and their weight against the class frequencies.
        threshold_: the threshold in use; None for the more probable class.
        cfc_: the networks, a fitted `CfCClassifier`.
        seed_: the random seed that was used.
    """

    _face: ClassVar = CfCClassifier

    def __init__(
        self,
        n_networks: int = 3,
        n_splits: int | None = None,
        threshold: float | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        super().__init__(n_networks, n_splits, random_state, n_jobs, device, verbose)
        self.threshold = threshold

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        order: Any = None,
        auxiliary: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> StackedClassifier:
        """Fit to series X with their classes y.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: (S,) one class per series, at least two different ones.
            sample_weight: (S,) weight of each series, in training and in the choice of the parts' weights; None for
                equal weights.
            groups: (S,) group of each series; a group is never on both sides of a fold. None for no groups.
            order: (S,) date or order of each series, so that parts are scored on later series than they were fitted
                to; None for no order.
            auxiliary: auxiliary targets of the networks, as in `CfCClassifier.fit`.
            folder: folder for checkpoints and the log of the networks.
            resume: resume the run in `folder`.
        """
        each = {"sample_weight": sample_weight, "groups": groups, "order": order, "auxiliary": auxiliary}
        self._fit(X, y, each, folder, resume)
        return self

    def _goal(self, y: Any, data: SeriesSet) -> Goal:
        self.classes_, codes = np.unique(checked_labels(y, data), return_inverse=True)
        check_two_classes(self.threshold, len(self.classes_))
        return Classes(codes.astype(np.int64), self.classes_)

    def _learn_held_out(self, goal: Goal, answer: Floats | None) -> None:
        rule = read_threshold(self.threshold)
        self.threshold_ = rule if isinstance(rule, float) else None
        if isinstance(rule, ThresholdRule):
            if answer is None:
                raise ValueError("`threshold` cannot be chosen: too few series to hold out; give a number")
            codes, known = goal.columns()[0], np.isfinite(answer).all(axis=1)
            counts = None if goal.rows is None else goal.rows[known]
            self.threshold_ = choose_threshold(answer[known, 1], codes[known], rule, counts)

    def _restore(self, cfc: Any) -> None:
        super()._restore(cfc)
        self.classes_ = cfc.classes_

    def _network_outputs(self, series: Any) -> Floats:
        chances: Floats = self.cfc_.predict_proba(series)
        return chances

    def predict_proba(self, X: Any) -> Floats:
        """Return (S, C) the probability of each class."""
        return self._outputs(X)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return (S,) the classes: the most probable ones, or those by the threshold."""
        return self.decide(self.predict_proba(X))

    def decide(self, probabilities: Floats, threshold: float | None = None) -> npt.NDArray[Any]:
        """Return the classes for probabilities; see `CfCClassifier.decide`."""
        return decided(probabilities, self.classes_, self.threshold_ if threshold is None else threshold)

    def _learned(self) -> dict[str, Any]:
        return {} if self.threshold_ is None else {"threshold": self.threshold_}

    def _relearn(self, facts: Mapping[str, Any]) -> None:
        self.threshold_ = stored_threshold(facts.get("threshold"), len(self.classes_))

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> Floats:
        """Take one sample of the live series `id` and return (C,) its probabilities from all samples so far.

        They equal `predict_proba` of the series up to this sample. Networks continue from their state, but features are
        computed again from all samples so far, so the cost grows with the length of the series.

        Arguments as in `CfCClassifier.update`.
        """
        return self._update(id, t, values, static)

    def _facts(self) -> dict[str, Sequence[Any]]:
        return {"classes": self.classes_.tolist(), **super()._facts()}
