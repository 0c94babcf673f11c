from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, check_random_state

from liquidtime._checks import check_size
from liquidtime.baselines.features import RunningFeatures, Trees
from liquidtime.data import SeriesSet
from liquidtime.data.container import flat_rows
from liquidtime.distributed import in_processes
from liquidtime.estimators.faces.base import Evolution
from liquidtime.estimators.faces.class_labels import codes_of_samples, sample_labels
from liquidtime.estimators.faces.classifier import CfCClassifier
from liquidtime.estimators.faces.threshold import check_two_classes
from liquidtime.estimators.network.budget import QUICK
from liquidtime.estimators.network.inputs import as_series
from liquidtime.estimators.network.weights import check_weights
from liquidtime.estimators.stacking.base import Floats
from liquidtime.estimators.stacking.classifier import StackedClassifier
from liquidtime.estimators.stacking.fitting import NETWORKS, RUNNING, RUNNING_BOOSTING, FeaturePart, Table
from liquidtime.estimators.stacking.folds import Folds, make_folds
from liquidtime.estimators.stacking.goal import Classes, Goal
from liquidtime.estimators.stacking.tree_part import TreePart
from liquidtime.training.seeds import derive_seed

_FOLDS = 3
_MOST_ROWS = 40_000
"""Samples of one class that the trees of one fold are grown on; neighbouring ones tell nearly the same."""
_MANY = 400
"""Series from which on networks are judged by one fold instead of all."""


class StackedStepClassifier(StackedClassifier):
    """Predict the class of every sample of irregular series, each from the samples up to it.

        model = StackedStepClassifier().fit(data, y)         y (N,), or a list of S arrays; None where not known
        model.predict_proba(new)                             (N, C), in the order of `new.times`
        model.update("bed 7", t, {"HR": 92.0})               as samples arrive, (C,)

    The parts are CfC networks that read every sample, and gradient boosting on running features of what each channel
    has shown so far. Weights, temperature and threshold are those with the least loss on series that the parts were
    not fitted to.

    Args:
        n_networks: CfC networks, whose predictions are averaged.
        n_splits: folds of series in which parts are judged; None: 3, and networks on many series by the first alone.
        threshold: of two classes, as for `CfCClassifier`.
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
        cfc_: the networks, a fitted `CfCClassifier` of every sample.
        seed_: the random seed that was used.
    """

    _face: ClassVar = CfCClassifier

    def __init__(
        self,
        n_networks: int = 1,
        n_splits: int | None = None,
        threshold: float | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        super().__init__(n_networks, n_splits, threshold, random_state, n_jobs, device, verbose)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        order: Any = None,
        auxiliary: None = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> StackedStepClassifier:
        """Fit to series X with a class for each of their samples.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: (N,) in the order of the samples, or a list of S arrays; a class that is None, NaN or "" is not known.
            sample_weight: (S,) weight of each series in training; None for equal weights.
            groups: (S,) series of one group are never on both sides of a fold; None for none.
            order: (S,) when each series was taken, where parts should be judged by later series than they were fitted
                to; None for none.
            auxiliary: None; auxiliary targets are of whole series.
            folder: folder for checkpoints and the log of the networks.
            resume: resume the run in `folder`.
        """
        check_size("n_networks", self.n_networks)
        if auxiliary is not None:
            raise ValueError("`auxiliary` is for whole series; leave it out to classify samples")
        data, codes, each = self._checked(X, y, sample_weight, groups, order)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        known = codes >= 0
        goal = Classes(codes[known], self.classes_)
        weights = each.get("sample_weight")
        goal.rows = None if weights is None else np.repeat(weights, data.lengths)[known]
        folds = self._series_folds(data, codes, each)
        cfc = self._networks(derive_seed(self.seed_, 0))
        cfc.fit(data, self._labels(codes), **each, folder=folder, resume=resume)
        features, parts, held_out = {}, {}, {}
        if folds:
            running = RunningFeatures().fit(data)
            features[RUNNING] = Table(running, running.transform(data))
            fitted = self._trees(features[RUNNING].X, data, codes, folds, goal.rows)
            parts[RUNNING_BOOSTING] = FeaturePart(RUNNING, (TreePart.of(fitted),))
            held_out[RUNNING_BOOSTING] = fitted.out_of_fold_
            held_out[NETWORKS] = self._networks_held_out(data, codes, each, folds)[known]
        self._weigh(goal, held_out)
        self._take(cfc, features, parts)
        return self

    def refit(
        self, X: Any, y: Any, *, folder: str | Path | None = None, resume: bool = False, **each: Any
    ) -> StackedStepClassifier:
        """Fit the parts again to other series and keep their weights and all other choices; as `StackedClassifier`."""
        check_is_fitted(self, "cfc_")
        data, codes, given = self._checked(X, y, **each)
        features, parts = {}, {}
        if self._has(RUNNING_BOOSTING):
            weights, known = given.get("sample_weight"), codes >= 0
            rows = None if weights is None else np.repeat(weights, data.lengths)[known]
            running = RunningFeatures().fit(data)
            features[RUNNING] = Table(running, running.transform(data))
            folds = self._series_folds(data, codes, given)
            fitted = self._trees(features[RUNNING].X, data, codes, folds, rows)
            parts[RUNNING_BOOSTING] = FeaturePart(RUNNING, (TreePart.of(fitted),))
        self._take(self.cfc_.refit(data, self._labels(codes), **given, folder=folder, resume=resume), features, parts)
        return self

    def _checked(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, order: Any = None
    ) -> tuple[SeriesSet, npt.NDArray[np.int64], dict[str, Any]]:
        data = as_series(self, X, reset=True)
        self.classes_, codes = codes_of_samples(*sample_labels(y, data))
        check_two_classes(self.threshold, len(self.classes_))
        each = {"groups": groups, "order": order}
        given = {name: np.asarray(rows) for name, rows in each.items() if rows is not None}
        if sample_weight is not None:
            given["sample_weight"] = check_weights(sample_weight, len(data))
        return data, codes, given

    def _series_folds(self, data: SeriesSet, codes: npt.NDArray[np.int64], each: Mapping[str, Any]) -> Folds:
        """Return folds of series, stratified by the rarest class of each; none if a side would have only one class."""
        strata = np.zeros(len(data), dtype=np.int64)
        rarity = np.append(np.argsort(np.argsort(-np.bincount(codes[codes >= 0], minlength=len(self.classes_)))), -1)
        np.maximum.at(strata, np.repeat(np.arange(len(data)), data.lengths), rarity[codes])
        folds = make_folds(
            len(data), self.n_splits or _FOLDS, self.seed_, strata, each.get("groups"), each.get("order")
        )
        return [
            (train, held)
            for train, held in folds
            if len(np.setdiff1d(codes[flat_rows(data.offsets, train)], [-1])) == len(self.classes_)
        ]

    def _labels(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the classes of samples, None where not known."""
        labels = self.classes_[codes].astype(object)
        labels[codes < 0] = None
        return labels

    def _networks(self, seed: int) -> Any:
        return self._face(
            n_estimators=self.n_networks,
            per_step=True,
            budget=QUICK,
            random_state=seed % 2**31,
            n_jobs=self.n_jobs,
            device=self.device,
            verbose=self.verbose,
        )

    def _trees(
        self,
        table: npt.NDArray[np.float32],
        data: SeriesSet,
        codes: npt.NDArray[np.int64],
        folds: Folds,
        weights: Floats | None,
    ) -> Trees:
        """Return boosting fitted to the samples of each fold's training series, with frequent classes thinned.

        The samples that are kept have larger weights instead, so that probabilities hold for all samples.
        """
        known = codes >= 0
        place = np.cumsum(known) - 1
        rng = np.random.default_rng(derive_seed(self.seed_, 100))
        cut, counts = [], []
        for train, held in folds:
            rows, judged = (flat_rows(data.offsets, side) for side in (train, held))
            rows, each = _thinned(rows[known[rows]], codes, rng)
            cut.append((place[rows], place[judged[known[judged]]]))
            counts.append(each if weights is None else each * weights[place[rows]])
        trees = Trees("boosting", "classify", self.seed_ % 4_000_000, careful=True)
        return trees.fit(table if known.all() else table[known], codes[known], cut, weights, counts)

    def _networks_held_out(
        self, data: SeriesSet, codes: npt.NDArray[np.int64], each: Mapping[str, Any], folds: Folds
    ) -> Floats:
        """Return (N, C) predictions of networks for samples of series that they were not fitted to, NaN for others."""
        chances = np.full((len(codes), len(self.classes_)), np.nan)
        used = folds if len(data) < _MANY else folds[:1]
        blank, seed, labels = clone(self), self.seed_, self._labels(codes)  # what other processes need to know

        def judged(number: int, again: bool) -> Floats:
            train, held = used[number]
            network = blank._networks(derive_seed(seed, 1 + number))
            known = labels[flat_rows(data.offsets, train)]
            network.fit(data[train], known, **{name: rows[train] for name, rows in each.items()})
            said: Floats = network.predict_proba(data[held])
            return said

        names = [f"held-out fold {number + 1} of {len(used)}" for number in range(len(used))]
        said = in_processes(judged, range(len(used)), self.n_jobs, names=names, show=self.verbose)
        for (_, held), one in zip(used, said, strict=True):
            chances[flat_rows(data.offsets, held)] = one
        return chances

    def _goal(self, y: Any, data: SeriesSet) -> Goal:
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Floats:
        """Return (N, C) the probability of each class after every sample, from the samples up to it."""
        return self._outputs(X)

    def evolve(self, X: Any, points: int | None = None) -> Evolution:
        """Return the probabilities after every sample of every series; `points` is for other stacks, ignored here."""
        series = self.encode(X)
        return Evolution(series.data.times, series.data.offsets, self._outputs(series))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy over the samples whose class is known."""
        series = self.encode(X)
        labels, known = sample_labels(y, series.data)
        return float(np.mean(self.predict(series)[known].astype(str) == labels[known].astype(str)))


def _thinned(
    rows: npt.NDArray[np.int64], codes: npt.NDArray[np.int64], rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return rows in which no class has too many, and the number of rows that each of them represents."""
    chosen, counts = [], []
    for code in np.unique(codes[rows]):
        own = rows[codes[rows] == code]
        taken = own if len(own) <= _MOST_ROWS else np.sort(rng.choice(own, _MOST_ROWS, replace=False))
        chosen.append(taken)
        counts.append(np.full(len(taken), len(own) / len(taken)))
    order = np.argsort(np.concatenate(chosen))
    return np.concatenate(chosen)[order], np.concatenate(counts)[order]
