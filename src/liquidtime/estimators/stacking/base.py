"""Base class of stacked estimators: parts, weights, live series and saving."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, check_random_state

from liquidtime._checks import check_size
from liquidtime.baselines.features.temperature import Calibration, log_scores
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.distributed import check_jobs
from liquidtime.estimators.faces.base import Evolution, SeriesEstimator
from liquidtime.estimators.faces.prefixes import last_samples, prefixes
from liquidtime.estimators.faces.series_model import SeriesModel
from liquidtime.estimators.network.budget import QUICK
from liquidtime.estimators.network.inputs import as_series
from liquidtime.estimators.network.scales import SCALES
from liquidtime.estimators.network.weights import check_weights
from liquidtime.estimators.stacking.fitting import (
    NETWORKS,
    RICH,
    TABLES,
    FeaturePart,
    StackPart,
    Table,
    fit_features,
    make_tables,
    networks_held_out,
)
from liquidtime.estimators.stacking.folds import Folds, make_folds
from liquidtime.estimators.stacking.goal import Goal
from liquidtime.estimators.stacking.live import LiveSamples
from liquidtime.estimators.stacking.series import StackedSeries
from liquidtime.training.devices import device_of
from liquidtime.training.seeds import derive_seed
from liquidtime.training.stages import stage

Floats = npt.NDArray[np.float64]
_MANY = 1000
"""Series from which on networks are judged by three folds instead of five."""


class StackedEstimator(SeriesModel):
    """CfC networks at several scales, and trees and linear models on features, weighted by out-of-fold predictions.

    Args:
        n_networks: number of CfC networks, which use the time scales in turn.
        n_splits: number of folds, in which parts are scored on series that they were not fitted to; None: 5, or 3 for
            networks on many series.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core;
            see `CfCClassifier`.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda", "mps" or "auto";
            see `CfCClassifier`.
        verbose: whether to show a progress line while networks are trained.
    """

    _face: ClassVar[type[SeriesEstimator]]
    cfc_: Any

    def __init__(
        self,
        n_networks: int = 3,
        n_splits: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.n_networks = n_networks
        self.n_splits = n_splits
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @abstractmethod
    def _goal(self, y: Any, data: SeriesSet) -> Goal:
        """Check the targets, store what they imply, and return them."""

    def _fit(self, X: Any, y: Any, each: Mapping[str, Any], folder: str | Path | None, resume: bool) -> None:
        """Fit all parts and weigh them.

        Args:
            X: series.
            y: targets of the series.
            each: inputs per series by name: `sample_weight`, `groups`, `order`, `auxiliary`; None if not used.
            folder: folder of the networks' run.
            resume: whether to resume it.
        """
        check_size("n_networks", self.n_networks)
        check_jobs(self.n_jobs)
        device_of(self.device)
        if self.n_splits is not None:
            check_size("n_splits", self.n_splits, 2)
        data = as_series(self, X, reset=True)
        goal = self._goal(y, data)
        S = len(data)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        given, folds = self._given(goal, each, S)
        few = self.n_splits or (5 if S < _MANY else 3)
        network_folds = self._folds(goal, given, S, few)
        tables = make_tables(data, self.seed_) if folds else {}
        if RICH in tables:
            goal.settle(tables[RICH].X, folds, self.seed_)
        # the networks of all series come first: a stopped run resumes there
        cfc = self._networks(derive_seed(self.seed_, 0))
        pieces = 1 + len(network_folds)
        with stage("networks of all series", 0, pieces):
            cfc.fit(data, goal.labels(slice(None)), **given, folder=folder, resume=resume)
        parts: dict[str, FeaturePart] = {}
        held_out: dict[str, Floats] = {}
        if folds:
            parts, held_out = fit_features(tables, goal, folds, self.seed_)
            blank, seed = clone(self), self.seed_  # what other processes need to know of it
            held_out[NETWORKS] = networks_held_out(
                lambda fold: blank._networks(derive_seed(seed, 1 + fold)),
                data,
                goal,
                network_folds,
                held_out,
                given,
                self.n_jobs,
            )
        self._weigh(goal, held_out)
        self._take(cfc, tables, parts)

    def refit(self, X: Any, y: Any, *, folder: str | Path | None = None, resume: bool = False, **each: Any) -> Self:
        """Fit the parts again to other series, usually more of them, and keep their weights and all other choices.

        Args:
            X: series like those of `fit`.
            y: targets of the series.
            folder: folder for checkpoints and the log of the networks.
            resume: resume the run in `folder`.
            **each: `sample_weight`, `groups`, `order` and `auxiliary`, as in `fit`.
        """
        check_is_fitted(self, "cfc_")
        data = as_series(self, X, reset=True)
        goal = self._goal(y, data)
        self._keep_scale(goal)
        given, folds = self._given(goal, each, len(data))
        used = [part.name for part in self.parts_ if part.weight > 0 and part.name != NETWORKS]
        tables = make_tables(data, self.seed_, {TABLES[part] for part in used})
        parts, _ = fit_features(tables, goal, folds, self.seed_, used)
        if set(parts) != set(used):
            raise ValueError(f"`X` must be like the series of `fit`; so {used[0]} cannot be fitted")
        cfc = self.cfc_.refit(data, goal.labels(slice(None)), **given, folder=folder, resume=resume)
        self._take(cfc, tables, parts)
        return self

    def _keep_scale(self, goal: Goal) -> None:
        """Let a goal of other series have the scale that was chosen, where there is a choice."""

    def _given(self, goal: Goal, each: Mapping[str, Any], S: int) -> tuple[dict[str, Any], Folds]:
        """Return what was given of each series, checked, as networks take it, and the folds of the other parts."""
        given = {name: np.asarray(_plain(rows)) for name, rows in each.items() if rows is not None}
        if "sample_weight" in given:
            given["sample_weight"] = goal.rows = check_weights(given["sample_weight"], S)
        return given, self._folds(goal, given, S, self.n_splits or 5)

    def _folds(self, goal: Goal, inputs: Mapping[str, Any], S: int, count: int) -> Folds:
        strata = goal.columns()[0] if goal.K else None
        return make_folds(S, count, self.seed_, strata, inputs.get("groups"), inputs.get("order"))

    def _take(self, cfc: Any, tables: Mapping[str, Table], parts: Mapping[str, FeaturePart]) -> None:
        """Keep the networks and, of the other parts and their features, those that have a weight."""
        used = {parts[part].table for part in parts if self._has(part)}
        self._features = {name: tables[name].transformer for name in used}
        self._feature_parts = {name: part for name, part in parts.items() if self._has(name)}
        self._restore(cfc)

    def _restore(self, cfc: Any) -> None:
        """Take fitted networks, and what they tell."""
        self.cfc_, self.n_series_ = cfc, cfc.n_series_
        self._live, self._lock = LiveSamples(), threading.Lock()

    def _networks(self, seed: int) -> Any:
        return self._face(
            n_estimators=self.n_networks,
            bin_width=SCALES,
            budget=QUICK,  # they are trained once per fold, and must take single samples of live series
            random_state=seed % 2**31,
            n_jobs=self.n_jobs,
            device=self.device,
            verbose=self.verbose,
        )

    def _weigh(self, goal: Goal, held_out: Mapping[str, Floats]) -> None:
        """Set weights and calibration by out-of-fold predictions; networks alone where there are none."""
        judged = {name: one for name, one in held_out.items() if np.isfinite(one).any()}
        weights, self.calibration_, self.figures_ = {NETWORKS: 1.0}, Calibration(), {}
        self._shares = goal.shares()
        if not judged:
            self._learn_held_out(goal, None)
        else:
            found = goal.weights(list(judged.values()))
            weights = dict(zip(judged, found.tolist(), strict=True))
            blend = np.tensordot(found, np.stack(list(judged.values())), axes=1)
            self.calibration_ = goal.calibration(blend)
            self.figures_ = goal.figures(self._tempered(blend))
            self._learn_held_out(goal, self._tempered(blend))
        names = [NETWORKS, *(name for name in held_out if name != NETWORKS)]
        self.parts_ = [
            StackPart(name, weights.get(name, 0.0), goal.figures(judged[name]) if name in judged else {})
            for name in names
        ]

    def _learn_held_out(self, goal: Goal, answer: Floats | None) -> None:
        """Learn what else the (S, W) out-of-fold answer tells, NaN for series in no fold; None if there is none."""

    def _learned(self) -> dict[str, Any]:
        """Return what this kind has learned out of fold besides weights and temperature, ready for JSON."""
        return {}

    def _relearn(self, facts: Mapping[str, Any]) -> None:
        """Take what `_learned` returned, checked."""

    def _has(self, name: str) -> bool:
        return any(part.name == name and part.weight > 0 for part in self.parts_)

    def _tempered(self, blend: Floats) -> Floats:
        """Return (n, W) probabilities as sure as the out-of-fold predictions allowed; values as they are."""
        plain = self.calibration_ == Calibration()
        return blend if plain else self.calibration_.apply(log_scores(blend), self._shares)

    @abstractmethod
    def _network_outputs(self, series: Any) -> Floats:
        """Return the (S, W) predictions of the networks."""

    def encode(self, X: Any) -> StackedSeries:
        """Encode series for all parts, so that several methods can take the result instead of X.

        Args:
            X: series like those of `fit`, or the result of this method.
        """
        check_is_fitted(self, "cfc_")
        if isinstance(X, StackedSeries):
            if X.features is not self._features:
                raise ValueError("`X` was encoded for another model; pass the original series")
            return X
        return StackedSeries(self.cfc_.encode(as_series(self, X, reset=False)), self._features)

    def predict_parts(self, X: Any) -> dict[str, Floats]:
        """Return the prediction of each part for each series, by name: (S, C) probabilities, or (S, W) values.

        Their mean with the weights in `parts_` is the prediction before the temperature; values are averaged on the
        scale of the fit. The networks are always included, even with weight 0.

        Args:
            X: series like those of `fit`.
        """
        series = self.encode(X)
        said = {NETWORKS: self._network_outputs(series.encoded)}
        return said | {
            name: self._unscaled(part.predict(series.table(part.table))) for name, part in self._feature_parts.items()
        }

    def networks_alone(self, X: Any) -> Floats:
        """Return the predictions of the CfC networks alone, shaped like those of the stack: probabilities or values.

        Args:
            X: series like those of `fit`.
        """
        return self._shaped(self._network_outputs(self.encode(X).encoded))

    def _shaped(self, outputs: Floats) -> Floats:
        """Return (S, W) outputs as `predict` and its kind return them."""
        return outputs

    def _outputs(self, X: Any) -> Floats:
        return self._answer(self.predict_parts(X))

    def _answer(self, predictions: Mapping[str, Floats]) -> Floats:
        """Return (S, W) the weighted mean of the parts on their scale, tempered."""
        shares = [part.weight * self._scaled(predictions[part.name]) for part in self.parts_ if part.weight > 0]
        return self._unscaled(self._tempered(np.sum(shares, axis=0)))

    def _scaled(self, outputs: Floats) -> Floats:
        """Return (n, W) outputs on the scale on which parts are weighed."""
        return outputs

    def _unscaled(self, outputs: Floats) -> Floats:
        """Return (n, W) outputs in units of the targets."""
        return outputs

    @property
    def reads_whole_series(self) -> bool:
        """Whether all samples are read again when a series has one more."""
        return bool(self._feature_parts)

    def evolve(self, X: Any, points: int | None = None) -> Evolution:
        """Return the prediction after every sample of every series, from the samples up to it.

        Networks continue from sample to sample, but features are computed again for each prefix: the cost grows with
        the square of the lengths. `points` bounds it.

        Args:
            X: series like those of `fit`.
            points: largest number of samples per series with a prediction, evenly spread, including the last; None
                for all.
        """
        series = self.encode(X)
        evolution = self.cfc_.evolve(series.encoded, points)
        last = last_samples(series.data, self.encoder_.bin_width)
        offsets = np.searchsorted(last, series.data.offsets)
        chosen = prefixes(series.data, series.data.times[last], offsets, points)
        heads = list(chosen.of(series.data))
        said = {NETWORKS: self._network_columns(evolution.outputs)}
        for name, part in self._feature_parts.items():
            tables = [self._features[part.table].transform(head) for head in heads]
            empty = np.empty((0, said[NETWORKS].shape[1]))
            said[name] = self._unscaled(part.predict(np.concatenate(tables))) if tables else empty
        return Evolution(evolution.times, chosen.offsets, self._answer(said))

    def _network_columns(self, outputs: Floats) -> Floats:
        """Return (N, W) outputs of the networks over time, with a column for everything that is predicted."""
        return outputs

    def _update(self, id: Any, t: Any, values: Any, static: Mapping[str, Any] | None) -> Floats:
        """Take a sample of the live series `id`; return (W,) the answer from all samples so far."""
        check_is_fitted(self, "cfc_")
        with self._lock:
            output = np.atleast_1d(self.cfc_.update(id, t, values, static=static))
            said = {NETWORKS: self._network_columns(np.asarray(output, dtype=np.float64)[None])}
            if self._feature_parts:
                samples = self._live.add(id, self.cfc_, static)
                for name, part in self._feature_parts.items():
                    table = self._features[part.table].transform(samples)  # of one series, or of all its samples
                    said[name] = self._unscaled(part.predict(table[-1:]))
            answer: Floats = self._answer(said)[0]
            return answer

    def reset(self, id: Any = None) -> None:
        """Forget the live series `id`, or all live series if it is None."""
        check_is_fitted(self, "cfc_")
        with self._lock:
            self.cfc_.reset(id)
            self._live.forget(id)

    @property
    def encoder_(self) -> SeriesEncoder:
        """The encoder of the first network."""
        encoder: SeriesEncoder = self.cfc_.encoder_
        return encoder

    @property
    def encoders_(self) -> list[SeriesEncoder]:
        """One encoder per time scale of the networks."""
        encoders: list[SeriesEncoder] = self.cfc_.encoders_
        return encoders

    @property
    def networks_(self) -> list[Any]:
        """The trained networks."""
        networks: list[Any] = self.cfc_.networks_
        return networks

    @property
    def results_(self) -> list[Any]:
        """One `TrainResult` per network."""
        results: list[Any] = self.cfc_.results_
        return results

    def save(
        self, path: str | Path, *, metrics: Mapping[str, Any] | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        """Save the model as a folder, which `liquidtime.load` reads; see `liquidtime.estimators.stacking.folder`.

        Args:
            path: path of the folder. If it holds a model, that model is kept as `<name>.previous`.
            metrics: figures to store with the model, ready for JSON.
            files: other files for the folder, by name, such as a report.
        """
        from liquidtime.estimators.stacking.folder import save

        check_is_fitted(self, "cfc_")
        save(self, path, metrics, files)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_lock", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = threading.Lock()

    def _facts(self) -> dict[str, Sequence[Any]]:
        """Return what a notebook shows besides what all kinds have: names by title."""
        return {"parts": [f"{part.name} {part.weight:.2f}" for part in self.parts_ if part.weight > 0]}


def _plain(values: Any) -> Any:
    return values.to_numpy() if hasattr(values, "to_numpy") else values
