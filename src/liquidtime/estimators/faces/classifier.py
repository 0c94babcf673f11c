from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from liquidtime.baselines.features.temperature import Calibration
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.estimators.faces.base import Evolution, SeriesEstimator
from liquidtime.estimators.faces.class_labels import (
    checked_labels,
    codes_of_samples,
    one_dimensional,
    places_of,
    plain_dtype,
    sample_labels,
)
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.faces.fitting import Problem
from liquidtime.estimators.faces.threshold import (
    ThresholdRule,
    check_two_classes,
    decided,
    held_out_threshold,
    read_threshold,
    stored_threshold,
)
from liquidtime.estimators.network.auxiliary import standardised
from liquidtime.estimators.network.budget import SEARCH
from liquidtime.estimators.network.front_end import AUTO, FRONT_ENDS
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, SeriesBatches, as_series
from liquidtime.estimators.network.members import PREDICT_BATCH, Part, Rows, groups_of, order_of, target_rows
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.estimators.network.scales import SCALES
from liquidtime.estimators.network.summary import SUMMARIES
from liquidtime.estimators.network.temperature import calibrated, fit_temperature, log_loss_of, log_shares
from liquidtime.estimators.network.weights import weight_tensor
from liquidtime.networks import Network
from liquidtime.training import Loss, cross_entropy
from liquidtime.training.devices import placed, taken


class CfCClassifier(ClassifierMixin, SeriesEstimator):  # type: ignore[misc]
    """Classify irregular series, or each of their samples, with two or more classes.

        clf = CfCClassifier(random_state=0).fit(data, y)
        clf.predict_proba(new)                       (S, C), columns in the order of `classes_`
        clf.update("bed 7", t, {"HR": 92.0})         one sample at a time, (C,)

        CfCClassifier(per_step=True).fit(data, y).predict_proba(new)     y (N,) or S arrays, (N, C)

    With `per_step`, N is the number of all samples, in the order of `data.times`. A class that is None, NaN or "" is
    unknown and ignored in training. The prediction for a sample uses only the samples up to it.

    Args:
        network: name of the network, such as "cfc", "ltc" or "gru" (docs/models.md lists all), or a function from the
            number of inputs to a `Cell`.
        hidden_size: units of the recurrent layer.
        backbone_units: units of the hidden layer inside a cell of the CfC family; other networks have none.
        num_layers: recurrent layers, each reading the outputs of the one below; 1 for networks that cannot be stacked.
        read_out_units: units of the hidden layer between the recurrent layer and the output.
        dropout: share of the read-out units that are dropped in training, in [0, 1).
        channel_dropout: share of the channels that are hidden from the recurrent layer in training, in [0, 1), drawn at
            random for each series; None: 0 for up to 3 channels, growing to 0.3 for 16 or more.
        bin_width: None reads single samples; a number combines the samples in each bin of this width, in the time unit
            of the set; "scales" gives the networks of an ensemble different widths in turn: single samples, then bins
            of 4, 16, … median intervals.
        epochs: passes over the training series; None: as many as 200 optimiser steps need, from 6 to 100, unless a
            search chooses the number.
        batch_size: series per batch; None: about 1/25 of the series, rounded to a power of 2 from 8 to 128.
        learning_rate: highest learning rate of the one-cycle schedule; None: the default of this estimator, unless a
            search chooses it.
        weight_decay: weight decay of the AdamW optimiser.
        validation_fraction: share of the training series that is held out to choose the best epoch; nothing else is
            learned from them, not even means and scales. 0 trains on all series and uses the last epoch.
        patience: stop after this many epochs without a better validation loss; 0 never stops early.
        n_estimators: networks in the ensemble. Each is trained with a different seed; predictions are averaged.
        budget: "quick" or "search". A search tries the number of epochs of `epochs=None`, 30 and 100 at the learning
            rates 1e-3 and 3e-3, as long as that helps on a held-out quarter of the training series and does not read
            too many samples. Then it trains on all series with the best, if that is better than the quick budget by
            more than a standard error, and with the quick budget otherwise. There is no search if `epochs`,
            `learning_rate` or series to choose the best epoch are given, or if there are fewer than 24 series.
        front_end: None, "convolution" or "convolution-own": strided convolutions before the recurrent layer, which then
            runs in both directions of time; "convolution-own" scales each series separately. "auto" lets the search try
            both and None if series are long and dense (half of them have 48 samples, half of the values are observed);
            without a search, it means None. A network with a front end reads whole series and refuses `update`.
        summary: None or "rich": also give the read-out rich features of the whole series, such as quantiles, slopes,
            autocorrelations and periods. "auto" lets the search try it if series are dense (half of them have 24
            samples, half of the values are observed); without a search, it means None. A network with a summary refuses
            `update`, and `evolve` computes the features of every prefix.
        class_weight: None gives every series the same weight; "balanced" gives every class the same total weight,
            n / (C·n_c) for each of its series; a mapping gives the weight of each class.
        per_step: whether there is a class for each sample instead of each series; samples are then never binned.
        threshold: for two classes, the probability of the second from which `predict` returns it: a number, or the
            criterion by which it is chosen on held-out series: "balanced_accuracy", "f1", "specificity=0.9" (the
            highest sensitivity with at least this specificity), "sensitivity=0.9", "cost=1:5" (a false alarm costs 1, a
            miss 5). None predicts the more probable class.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core.
            Results do not depend on it. None computes in this process, with the threads of torch.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda" or "mps", "cuda:1" for
            the second GPU, or "auto" for CUDA, MPS or the CPU, whichever is available first. Fitted models are kept on
            the CPU, which handles live series, and saved without their device. We have never run this on a GPU.
        verbose: whether to show a progress line while training.

    Attributes:
        classes_: (C,) the classes, sorted.
        encoder_: the fitted `SeriesEncoder` of the first network.
        encoders_: one encoder per time scale; network m uses encoder m modulo the number of encoders.
        networks_: the trained networks.
        results_: one `TrainResult` per network.
        threshold_: the threshold in use; None for the more probable class.
        temperature_: the number by which logits are divided; 1 without a search.
        trust_: weight of the networks' probabilities against the class frequencies, chosen on held-out series; 1
            without a search.
        choice_: the epochs, learning rate, front end and summary that the networks were trained with.
        front_end_: the front end, or None.
        summary_: the fitted features of whole series that the read-out uses, or None.
        trials_: the trials of the search with their held-out losses; empty without a search.
        seed_: the random seed that was used.
    """

    _kind: ClassVar[str] = "CfCClassifier"
    _purpose: ClassVar[str] = "classifies irregular series"

    def __init__(
        self,
        network: Network = "cfc",
        hidden_size: int = 32,
        backbone_units: int = 64,
        num_layers: int = 1,
        read_out_units: int = 128,
        dropout: float = 0.5,
        channel_dropout: float | None = None,
        bin_width: float | str | None = SCALES,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float = 1e-2,
        validation_fraction: float = 0.0,
        patience: int = 0,
        n_estimators: int = 1,
        budget: str = SEARCH,
        front_end: str | None = AUTO,
        summary: str | None = AUTO,
        class_weight: str | Mapping[Any, float] | None = None,
        per_step: bool = False,
        threshold: float | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            network=network, hidden_size=hidden_size, backbone_units=backbone_units, num_layers=num_layers,
            read_out_units=read_out_units, dropout=dropout, channel_dropout=channel_dropout, bin_width=bin_width,
            epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, weight_decay=weight_decay,
            validation_fraction=validation_fraction, patience=patience, n_estimators=n_estimators,
            budget=budget, front_end=front_end, summary=summary, random_state=random_state, n_jobs=n_jobs,
            device=device, verbose=verbose,
        )  # fmt: skip
        self.class_weight = class_weight
        self.per_step = per_step
        self.threshold = threshold

    def _check_settings(self) -> None:
        super()._check_settings()
        read_threshold(self.threshold)
        if self.per_step and self.bin_width not in (None, SCALES):
            raise ValueError("`per_step` needs single samples, not bins; leave out `bin_width`")
        for name, whole in (("front_end", FRONT_ENDS), ("summary", SUMMARIES)):
            if self.per_step and getattr(self, name) in whole:
                raise ValueError(
                    f"`per_step` predicts each sample from those before it, which `{name}` cannot; leave it out"
                )

    def _width(self) -> float | str | None:
        return None if self.per_step else self.bin_width

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        auxiliary: Any = None,
        groups: Any = None,
        order: Any = None,
        validation: tuple[Any, Any] | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> CfCClassifier:
        """Train on series X with their classes y.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: (S,) one class per series, at least two different ones; with `per_step` one per sample.
            sample_weight: (S,) weight of each series in training; None for equal weights.
            auxiliary: (S,), (S, K) or a data frame of auxiliary targets, NaN if not known, used in training only;
                see `liquidtime.estimators.network.auxiliary`.
            groups: (S,) group of each series, such as its patient, which held-out folds never split; None for none.
            order: (S,) date or order of each series, so that later ones are held out; None for no order.
            validation: series and classes to choose the best epoch with, instead of `validation_fraction`.
            folder: folder for checkpoints and the log of the run, and of each trial of a search.
            resume: resume the run in `folder`.

        Raises:
            ValueError: series and classes do not match, or `validation` has a class that training does not have.

        """
        data = as_series(self, X, reset=True)
        codes, strata = self._take_classes(y, data)
        if auxiliary is not None and self.per_step:
            raise ValueError("`auxiliary` is for whole series; leave it out with `per_step`")
        rows = weight_tensor(sample_weight, len(data))
        groups, order = groups_of(groups, len(data)), order_of(order, len(data))
        train, back = self._hold_back(len(data), strata, groups, order, validation is not None)
        outcomes = None if auxiliary is None else standardised(auxiliary, len(data), train)
        held = None if validation is None else self._held_out(*validation)
        if len(back):
            held = data[back], codes[target_rows(data, back, self.per_step)]
            codes, data = codes[target_rows(data, train, self.per_step)], data[train]
            strata, rows = strata[train], None if rows is None else rows[train]
            groups, order = (None if each is None else each[train] for each in (groups, order))
        self._fit_encoders(data)
        check_two_classes(self.threshold, len(self.classes_))
        self._weigh(codes, rows, data)

        def parts(encoder: SeriesEncoder) -> tuple[Part, Part | None]:
            train = Part(Prepared.of(encoder, data, every_step=self.per_step, device=self.device), self._codes)
            if held is None:
                return train, None
            judges = Prepared.of(encoder, held[0], every_step=self.per_step, device=self.device)
            return train, Part(judges, torch.from_numpy(held[1]))

        C = len(self.classes_)
        run = {"folder": folder, "resume": resume}
        self._fit_members(parts, C if C > 2 else 1, self._loss_of, strata, run, outcomes, groups, order)
        rule = read_threshold(self.threshold)
        self.threshold_ = rule if isinstance(rule, float) else None
        if isinstance(rule, ThresholdRule):
            self.threshold_ = held_out_threshold(self, rule, data, codes, strata, rows, groups, order)
        del self._codes, self._rows
        return self

    def _take_classes(self, y: Any, data: SeriesSet) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return (S,) or (N,) codes of the classes, -1 where not known, and (S,) the classes that folds go by."""
        if not self.per_step:
            self.classes_, codes = np.unique(checked_labels(y, data), return_inverse=True)
            return codes, codes
        self.classes_, codes = codes_of_samples(*sample_labels(y, data))
        owners = np.repeat(np.arange(len(data)), data.lengths)
        strata = np.zeros(len(data), dtype=np.int64)
        np.maximum.at(strata, owners, codes)
        return codes, strata

    def _weigh(self, codes: npt.NDArray[np.int64], rows: Tensor | None, data: SeriesSet) -> None:
        """Set what the loss needs: the codes, the weights of classes and of series, and the classes' shares."""
        known = codes >= 0
        self._codes, self._rows, weights = torch.from_numpy(codes), rows, None
        if self.class_weight is not None:
            given = dict(self.class_weight) if isinstance(self.class_weight, Mapping) else self.class_weight
            labels = self.classes_[codes[known]]
            weights = torch.tensor(compute_class_weight(given, classes=self.classes_, y=labels), dtype=torch.float32)
        each = None if rows is None else rows.double().numpy()
        if each is not None and self.per_step:
            each = np.repeat(each, data.lengths)[known]
        self._weights, self._shares = weights, log_shares(codes[known], len(self.classes_), weights, each)

    def _asked(self, sample: SeriesBatch, target: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the classes of a batch that are known, where they stand in the network's output, and their weights.

        Where they stand is None if it is everywhere. All of it is on the host.

        Weights are those of training series; series of `validation` have none.
        """
        rows = self._rows[sample.rows] if self._rows is not None and target is self._codes else None  # (B,)
        if not self.per_step:
            return target[sample.rows], None, rows
        step = torch.arange(sample.dt.shape[1])
        inside = step < sample.counts.unsqueeze(1)  # (B, T)
        wanted = torch.full(inside.shape, -1, dtype=torch.int64)
        wanted[inside] = target[(sample.first.unsqueeze(1) + step)[inside]]
        known = wanted >= 0
        return wanted[known], known, None if rows is None else rows.unsqueeze(1).expand(known.shape)[known]

    def _run_network(self, network: nn.Module, sample: SeriesBatch, places: Tensor | None) -> Tensor:
        """Return (n, K) the outputs of a network at some places (B, T), or of whole series."""
        if places is None:
            out: Tensor = network(*sample[:5])
            return out
        return taken(network.prefixes(*sample[:5]), places)  # type: ignore[operator]

    def _loss_of(self, network: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
        wanted, places, rows = self._asked(sample, target)
        return cross_entropy(
            _logits(self._run_network(network, sample, places)), wanted, self._weights, row_weights=rows
        )

    def _held_out(self, X: Any, y: Any) -> tuple[SeriesSet, npt.NDArray[np.int64]]:
        """Return series that choose the best epoch, and the places of their classes."""
        data = as_series(self, X, reset=False)
        if not self.per_step:
            return data, places_of(one_dimensional(y, len(data)), self.classes_)
        labels, known = sample_labels(y, data)
        codes = np.full(len(labels), -1, dtype=np.int64)
        codes[known] = places_of(np.array(labels[known].tolist(), dtype=self.classes_.dtype), self.classes_)
        return data, codes

    def _said_of(self, network: SeriesNetwork, part: Part, rows: Rows) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return (n, C) logits of some series, or of their samples, (n,) their classes and weights in the loss."""
        logits, targets, weights = [], [], []
        with placed(network, part.prepared.device):
            for sample in SeriesBatches(part.prepared, PREDICT_BATCH, rows):
                wanted, places, each = self._asked(sample, part.target)
                logits.append(_logits(self._run_network(network, sample, places)).cpu())
                targets.append(wanted)
                weights += [] if each is None else [each]
        return torch.cat(logits), torch.cat(targets), torch.cat(weights) if weights else None

    def _judged(self, network: SeriesNetwork, part: Part, rows: Rows, problem: Problem) -> tuple[float, Calibration]:
        logits, targets, weights = self._said_of(network, part, rows)
        return fit_temperature(logits, targets, self._shares, self._weights, weights)

    def _block_loss(
        self, network: SeriesNetwork, part: Part, rows: Rows, problem: Problem, calibration: Calibration
    ) -> float:
        logits, targets, weights = self._said_of(network, part, rows)
        return log_loss_of(logits, targets, self._shares, calibration, self._weights, weights)

    def _calibrate(self, calibration: Calibration) -> None:
        self.temperature_, self.trust_ = calibration.temperature, calibration.trust

    def _probabilities(self, out: Tensor) -> Tensor:
        """Return (..., C) probabilities of a network's outputs."""
        return calibrated(_logits(out), self._shares, Calibration(self.temperature_, self.trust_))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return (S, C), with `per_step` (N, C), the probability of each class, the mean over the networks."""
        series = self.encode(X)
        if not self.per_step:
            return self._outputs(series, self._probabilities)
        chances = self._evolution(series, self._probabilities).outputs
        flat = isinstance(X, SeriesSet | EncodedSeries | list)
        return chances if flat else chances.reshape(*np.shape(X)[:2], -1)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return (S,), with `per_step` (N,), the classes: the most probable ones, or those by the threshold."""
        return self.decide(self.predict_proba(X))

    def decide(self, probabilities: npt.NDArray[np.float64], threshold: float | None = None) -> npt.NDArray[Any]:
        """Return the classes for probabilities (..., C).

        Args:
            probabilities: result of `predict_proba`.
            threshold: for two classes, the probability from which the second is predicted; None for the model's own.
        """
        return decided(probabilities, self.classes_, self.threshold_ if threshold is None else threshold)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy; with `per_step` over the samples whose class is known."""
        if not self.per_step:
            return float(super().score(X, y, sample_weight))
        series = self.encode(X)
        labels, known = sample_labels(y, series.data)
        said = self.predict(series)[known]
        right = said.astype(str) == labels[known].astype(str) if labels.dtype == object else said == labels[known]
        return float(np.mean(right))

    def evolve(self, X: Any, points: int | None = None) -> Evolution:
        """Return the probabilities after every step of every series, from the samples up to it.

        Args:
            X: series like those of `fit`.
            points: largest number of steps per series with a prediction, evenly spread, including the last; None for
                all. It bounds the work of networks that read whole series, which read every prefix again.
        """
        return self._evolution_at(X, self._probabilities, points)

    def update(
        self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None
    ) -> npt.NDArray[np.float64]:
        """Take one sample of the live series `id` and return (C,) its probabilities from all samples so far.

        They equal `predict_proba` of the series up to this sample.

        Args:
            id: id of the series; a new id starts a new series.
            t: time of the sample, a number in the unit of training or a time stamp, not before the previous sample.
            values: values by channel, or (C,); NaN, None and channels that are left out are not observed.
            static: static features by name, for the first sample.
        """
        return self._probabilities(self._update(id, t, values, static)).mean(dim=0).double().numpy()

    def _choices(self) -> dict[str, Any]:
        own = {"temperature_": self.temperature_, "trust_": self.trust_, "threshold_": self.threshold_}
        return super()._choices() | own

    def _without_choosing(self) -> dict[str, Any]:
        return {"threshold": None}

    def _facts(self) -> dict[str, Sequence[Any]]:
        return {"classes": self.classes_.tolist()}

    def _learned(self) -> dict[str, Any]:
        check_is_fitted(self, "classes_")
        learned: dict[str, Any] = {"classes": self.classes_.tolist(), "classes_dtype": self.classes_.dtype.str}
        if self.threshold_ is not None:
            learned["threshold"] = self.threshold_
        if (self.temperature_, self.trust_) == (1.0, 1.0):
            return learned
        facts = {"temperature": self.temperature_, "trust": self.trust_, "log_shares": self._shares.tolist()}
        return learned | facts

    def _relearn(self, facts: Mapping[str, Any]) -> int:
        classes, kind = facts["classes"], facts["classes_dtype"]
        if not isinstance(classes, list) or len(classes) < 2:
            raise ValueError("`classes` must be a list of at least two")
        self.classes_ = np.array(classes, dtype=plain_dtype(classes, str(kind)))
        if len(np.unique(self.classes_)) != len(classes):
            raise ValueError("`classes` must be different from each other")
        self.temperature_ = float(facts.get("temperature", 1.0))
        self._shares = torch.tensor(facts.get("log_shares", [0.0] * len(classes)), dtype=torch.float64)
        if self.temperature_ != 1.0 and "trust" not in facts:
            raise ValueError(
                "`temperature` is from an unreleased version, where it had another meaning; train the model again"
            )
        self.trust_ = float(facts.get("trust", 1.0))
        if not self.temperature_ > 0 or not 0 < self.trust_ <= 1 or self._shares.shape != (len(classes),):
            raise ValueError("`temperature` must be over 0, `trust` up to 1, with one of `log_shares` for each class")
        self.threshold_ = stored_threshold(facts.get("threshold"), len(classes))
        return len(classes) if len(classes) > 2 else 1


def _logits(out: Tensor) -> Tensor:
    """Return (..., C) logits: of two classes the network gives the second one's, the first one's is 0."""
    return out if out.shape[-1] > 1 else torch.cat([torch.zeros_like(out), out], dim=-1)
