from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d
from torch import Tensor, nn

from liquidtime.baselines.features.temperature import Calibration
from liquidtime.data import SeriesEncoder, SeriesSet, check_classes
from liquidtime.estimators.faces.base import Evolution, SeriesEstimator
from liquidtime.estimators.faces.fitting import Problem
from liquidtime.estimators.network.auxiliary import standardised
from liquidtime.estimators.network.budget import SEARCH
from liquidtime.estimators.network.front_end import AUTO
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, SeriesBatches, as_series
from liquidtime.estimators.network.members import PREDICT_BATCH, Part, Rows, groups_of
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.estimators.network.scales import SCALES
from liquidtime.estimators.network.temperature import calibrated, fit_temperature, log_shares
from liquidtime.networks import Network
from liquidtime.training import Loss, cross_entropy


class CfCClassifier(ClassifierMixin, SeriesEstimator):  # type: ignore[misc]
    """Classify irregular series, with two or more classes.

        clf = CfCClassifier(random_state=0).fit(data, y)
        clf.predict_proba(new)                       (S, C), columns in the order of `classes_`
        clf.update("bed 7", t, {"HR": 92.0})         one sample at a time, (C,)

    Args:
        network: name of the network, such as "cfc", "ltc" or "gru" (docs/models.md lists all), or a function from the
            number of inputs to a `Cell`.
        hidden_size: units of the recurrent layer.
        backbone_units: units of the hidden layer inside a cell of the CfC family; other networks have none.
        num_layers: recurrent layers, each reading the outputs of the one below; 1 for networks that cannot be stacked.
        read_out_units: units of the hidden layer between the recurrent layer and the output.
        dropout: share of the read-out's units that are dropped in training, in [0, 1).
        channel_dropout: share of the channels that are hidden from the recurrent layer in training, drawn anew for
            each series, in [0, 1); None: 0 with up to 3 channels, growing to 0.3 with 16 and more.
        bin_width: None reads every sample as it is; a number gathers samples in bins of this width, in the set's time
            unit; "scales" lets the networks of an ensemble take turns: every sample as it is, then bins of 4, 16, …
            median intervals.
        epochs: passes over the training series; None: 6, or as many as it takes for 200 optimiser steps, at most 100,
            unless a search chooses them.
        batch_size: series per batch; None: about a 25th of the series, a power of 2 from 8 to 128.
        learning_rate: highest learning rate of the one-cycle schedule; None: that of the kind of estimator, unless a
            search chooses it.
        weight_decay: weight decay of the AdamW optimiser.
        validation_fraction: share of the training series held back to choose the best epoch, other series for each
            network of an ensemble. 0 trains on all series and takes the last epoch.
        patience: stop after this many epochs without a better validation loss; 0 never stops early.
        n_estimators: networks in the ensemble. Each is trained from its own seed; predictions are averaged.
        budget: "quick" or "search". A search tries the epochs of `epochs=None`, 30 and 100 of them at the learning
            rates 1e-3 and 3e-3, as long as that helps on a held-out quarter of the training series and does not read
            too many samples, and trains on all series by the best. There is no search where `epochs`, `learning_rate`
            or series to choose the best epoch are given, nor with fewer than 24 series.
        front_end: None, "convolution" or "convolution-own": strided convolutions before the recurrent layer, which then
            runs in both directions of time; the second scales each series by itself. "auto" lets the search try both
            beside None where series are long and dense (half of them have 48 samples, half of the values observed);
            without a search it is None. Such a network reads whole series: `update` is refused.
        class_weight: None weighs every series the same; "balanced" gives every class the same weight in all,
            n / (C·n_c); a mapping gives the weight of each class.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        verbose: whether to show a progress line while training.

    Attributes:
        classes_: (C,) the classes, sorted.
        encoder_: the fitted `SeriesEncoder` of the first network.
        encoders_: one encoder per time scale; network m reads by encoder m modulo their number.
        networks_: the trained networks.
        results_: one `TrainResult` per network.
        temperature_: by which the logits are divided; 1 where there was no search.
        trust_: weight of the answer beside the classes' shares, as far as held-out series allow; 1 without a search.
        choice_: the epochs, the learning rate and the front end that the networks were trained with.
        front_end_: that front end, or None.
        trials_: what a search tried, each with its held-out loss; empty where there was none.
        seed_: the seed that everything random followed from.
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
        class_weight: str | Mapping[Any, float] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            network=network, hidden_size=hidden_size, backbone_units=backbone_units, num_layers=num_layers,
            read_out_units=read_out_units, dropout=dropout, channel_dropout=channel_dropout, bin_width=bin_width,
            epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, weight_decay=weight_decay,
            validation_fraction=validation_fraction, patience=patience, n_estimators=n_estimators,
            budget=budget, front_end=front_end, random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        auxiliary: Any = None,
        groups: Any = None,
        validation: tuple[Any, Any] | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> CfCClassifier:
        """Train on series X with their classes y.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: (S,) one class per series, at least two different ones.
            auxiliary: (S,), (S, K) or a data frame of auxiliary targets, NaN where not known, used in training only;
                see `liquidtime.estimators.network.auxiliary`.
            groups: (S,) of which group each series is, such as of one patient: held-out folds never split a group.
            validation: series and classes to choose the best epoch by, in place of `validation_fraction`.
            folder: where to keep checkpoints and the log of the run, and those of each trial of a search.
            resume: resume the run in `folder`.

        Raises:
            ValueError: series and classes that do not belong together, a class of validation that training has not.

        """
        data = as_series(self, X, reset=True)
        labels = checked_labels(y, data)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        outcomes = None if auxiliary is None else standardised(auxiliary, len(data))
        self._fit_encoders(data)
        C = len(self.classes_)
        weights = None
        if self.class_weight is not None:
            given = dict(self.class_weight) if isinstance(self.class_weight, Mapping) else self.class_weight
            weights = torch.tensor(compute_class_weight(given, classes=self.classes_, y=labels), dtype=torch.float32)
        self._weights, self._shares = weights, log_shares(codes, C, weights)

        def loss_of(network: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
            return cross_entropy(_logits(network(*sample[:5])), target[sample.rows], weights)

        held = None if validation is None else self._held_out(*validation)

        def parts(encoder: SeriesEncoder) -> tuple[Part, Part | None]:
            train = Part(Prepared.of(encoder, data), torch.from_numpy(codes))
            if held is None:
                return train, None
            return train, Part(Prepared.of(encoder, held[0]), torch.from_numpy(held[1]))

        run = {"folder": folder, "resume": resume}
        self._fit_members(parts, C if C > 2 else 1, loss_of, codes, run, outcomes, groups_of(groups, len(data)))
        return self

    def _held_out(self, X: Any, y: Any) -> tuple[SeriesSet, npt.NDArray[np.int64]]:
        """Return series that choose the best epoch, and the places of their classes."""
        data = as_series(self, X, reset=False)
        labels = _one_dimensional(y, len(data))
        places = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        strange = labels[self.classes_[places] != labels]
        if len(strange):
            raise ValueError(
                f"`validation` must have classes of training ({', '.join(map(str, self.classes_[:10]))}); "
                f"{len(strange)} of its labels are others, the first is {str(strange[0])!r}"
            )
        return data, places

    def _judged(self, network: SeriesNetwork, part: Part, rows: Rows, problem: Problem) -> tuple[float, Calibration]:
        batches = list(SeriesBatches(part.prepared, PREDICT_BATCH, rows))
        logits = torch.cat([_logits(network(*sample[:5])) for sample in batches])
        codes = torch.cat([part.target[sample.rows] for sample in batches])
        return fit_temperature(logits, codes, self._shares, self._weights)

    def _calibrate(self, calibration: Calibration) -> None:
        self.temperature_, self.trust_ = calibration.temperature, calibration.trust

    def _probabilities(self, out: Tensor) -> Tensor:
        """Return (..., C) probabilities of a network's outputs."""
        return calibrated(_logits(out), self._shares, Calibration(self.temperature_, self.trust_))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return (S, C) the probability of each class, the mean over the networks."""
        return self._outputs(self.encode(X), self._probabilities)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return (S,) the most probable classes."""
        probabilities = self.predict_proba(X)
        labels: npt.NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        return labels

    def evolve(self, X: Any) -> Evolution:
        """Return the probabilities after every step of every series, from the samples up to it alone."""
        return self._evolution(self.encode(X), self._probabilities)

    def update(
        self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None
    ) -> npt.NDArray[np.float64]:
        """Take one sample of the live series `id` and return (C,) its probabilities from all samples so far.

        They equal `predict_proba` of the series up to this sample.

        Args:
            id: of the series; a new one starts.
            t: the sample's time, a number in the unit of training or a time stamp, not before the one before.
            values: a mapping from channels to values, or (C,); NaN, None and channels left out are not observed.
            static: static features by name, with the first sample.
        """
        return self._probabilities(self._update(id, t, values, static)).mean(dim=0).double().numpy()

    def _facts(self) -> dict[str, Sequence[Any]]:
        return {"classes": self.classes_.tolist()}

    def _learned(self) -> dict[str, Any]:
        check_is_fitted(self, "classes_")
        learned = {"classes": self.classes_.tolist(), "classes_dtype": self.classes_.dtype.str}
        if (self.temperature_, self.trust_) == (1.0, 1.0):
            return learned
        facts = {"temperature": self.temperature_, "trust": self.trust_, "log_shares": self._shares.tolist()}
        return learned | facts

    def _relearn(self, learned: Mapping[str, Any]) -> int:
        classes, kind = learned["classes"], learned["classes_dtype"]
        if not isinstance(classes, list) or len(classes) < 2:
            raise ValueError("`classes` must be a list of at least two")
        self.classes_ = np.array(classes, dtype=_plain_dtype(classes, str(kind)))
        if len(np.unique(self.classes_)) != len(classes):
            raise ValueError("`classes` must be different from each other")
        self.temperature_ = float(learned.get("temperature", 1.0))
        self._shares = torch.tensor(learned.get("log_shares", [0.0] * len(classes)), dtype=torch.float64)
        self.trust_ = float(learned.get("trust", 1.0))
        if not self.temperature_ > 0 or not 0 < self.trust_ <= 1 or self._shares.shape != (len(classes),):
            raise ValueError("`temperature` must be over 0, `trust` up to 1, with one of `log_shares` for each class")
        return len(classes) if len(classes) > 2 else 1


def _plain_dtype(classes: list[Any], kind: str) -> Any:
    """Return the type of stored classes: texts as wide as they are, or numbers of at most eight bytes."""
    texts, numbers = (all(isinstance(item, allowed) for item in classes) for allowed in (str, int | float | bool))
    if kind[1:2] in ("U", "O") and texts:
        return object if kind[1:2] == "O" else np.str_
    if kind[1:] in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8") and numbers:
        return np.dtype(kind)
    raise ValueError(f"`classes` must be numbers or texts of a plain type; got {kind!r}")


def _logits(out: Tensor) -> Tensor:
    """Return (..., C) logits: of two classes the network gives the second one's, the first one's is 0."""
    return out if out.shape[-1] > 1 else torch.cat([torch.zeros_like(out), out], dim=-1)


def checked_labels(y: Any, data: SeriesSet) -> npt.NDArray[Any]:
    """Return (S,) the classes of a set of series, at least two different ones, or refuse them."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None: one class per series.")
    labels = _one_dimensional(y, len(data))
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    if len(set(labels.tolist())) == 1:
        raise ValueError(f"`y` must have at least two classes; got one class, {str(labels[0])!r}, {len(labels)} times")
    return check_classes(labels, len(data))


def _one_dimensional(y: Any, S: int) -> npt.NDArray[Any]:
    """Return the labels as an (S,) array; a column (S, 1) is taken with scikit-learn's warning."""
    labels = column_or_1d(y, warn=True)
    if len(labels) != S:
        raise ValueError(f"`y` must have one class per series, {S}; got {len(labels)}")
    return np.asarray(labels)
