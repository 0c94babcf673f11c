from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import RegressorMixin, clone
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from liquidtime.data import SeriesEncoder, SeriesSet, check_values
from liquidtime.distributed import in_processes
from liquidtime.errors import wrong_shape
from liquidtime.estimators.faces.base import Evolution, SeriesEstimator
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.faces.intervals import Residuals
from liquidtime.estimators.network.auxiliary import standardised
from liquidtime.estimators.network.budget import SEARCH
from liquidtime.estimators.network.front_end import AUTO, FRONT_ENDS
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, as_series
from liquidtime.estimators.network.members import Part, folds, groups_of, order_of, target_rows
from liquidtime.estimators.network.summary import SUMMARIES
from liquidtime.estimators.network.weights import weight_tensor
from liquidtime.networks import Network
from liquidtime.training import Loss, squared_error
from liquidtime.training.devices import taken

Values = npt.NDArray[np.float64]

_FOLDS = 3
"""In which intervals are measured."""
_LARGEST = 1e30
"""Of a target: networks compute with 32 bits, in which squares of larger numbers have no place."""


class CfCRegressor(RegressorMixin, SeriesEstimator):  # type: ignore[misc]
    """Predict one or more numbers for each irregular series, or for each of its samples.

        CfCRegressor().fit(data, y).predict(new)                         y (S,) or (S, K)
        CfCRegressor(per_step=True).fit(data, y).predict(new)            y (N,) or (N, K), one row per sample

    With `per_step`, N is the number of all samples, in the order of `data.times`; for an array X (S, T) or (S, T, C)
    targets and predictions may be (S, T) or (S, T, K). NaN in a target is unknown and ignored in training. The
    prediction for a sample uses only the samples up to it.

    Targets are standardised internally.

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
        per_step: whether there is a target for each sample instead of each series.
        intervals: whether to measure the errors of predictions on three held-out thirds of the series, which
            `predict_interval` needs; this takes three more trainings.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core.
            Results do not depend on it. None computes in this process, with the threads of torch.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda" or "mps", "cuda:1" for
            the second GPU, or "auto" for CUDA, MPS or the CPU, whichever is available first. Fitted models are kept on
            the CPU, which handles live series, and saved without their device. We have never run this on a GPU.
        verbose: whether to show a progress line while training.

    Attributes:
        n_outputs_: K of targets (S, K) or (N, K); 0 for (S,) or (N,).
        encoder_: the fitted `SeriesEncoder` of the first network.
        encoders_: one encoder per time scale; network m uses encoder m modulo the number of encoders.
        networks_: the trained networks.
        results_: one `TrainResult` per network.
        choice_: the epochs, learning rate, front end and summary that the networks were trained with.
        front_end_: the front end, or None.
        summary_: the fitted features of whole series that the read-out uses, or None.
        trials_: the trials of the search with their held-out losses; empty without a search.
        residuals_: errors of held-out predictions, with `intervals`; otherwise None.
        seed_: the random seed that was used.
    """

    _kind: ClassVar[str] = "CfCRegressor"
    _purpose: ClassVar[str] = "predicts numbers from irregular series"
    _learning_rate: ClassVar[float] = 3e-3
    _deviation: ClassVar[float] = 1 / 3
    """Deviation of the read-out's piecewise-linear features. The default learning rate is three times that of the
    classifier, which the recurrent layer needs; the features are many and overfit at that rate. At a third of their
    size they move the output as slowly as they do in a classifier."""

    def __init__(
        self,
        network: Network = "cfc",
        hidden_size: int = 32,
        backbone_units: int = 64,
        num_layers: int = 1,
        read_out_units: int = 128,
        dropout: float = 0.5,
        channel_dropout: float | None = None,
        bin_width: float | str | None = None,
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
        per_step: bool = False,
        intervals: bool = False,
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
        self.per_step = per_step
        self.intervals = intervals

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.per_step and self.bin_width is not None:
            raise ValueError("`per_step` needs single samples, not bins; leave out `bin_width`")
        for name, whole in (("front_end", FRONT_ENDS), ("summary", SUMMARIES)):
            if self.per_step and getattr(self, name) in whole:
                raise ValueError(
                    f"`per_step` predicts each sample from those before it, which `{name}` cannot; leave it out"
                )

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
    ) -> CfCRegressor:
        """Train on series X with their targets y.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: (S,) or (S, K); with `per_step` one row per sample.
            sample_weight: (S,) weight of each series in training; None for equal weights.
            auxiliary: (S,), (S, K) or a data frame of auxiliary targets, NaN if not known, used in training only;
                see `liquidtime.estimators.network.auxiliary`.
            groups: (S,) group of each series, such as its patient, which held-out folds never split; None for none.
            order: (S,) date or order of each series, so that later ones are held out; None for no order.
            validation: series and targets to choose the best epoch with, instead of `validation_fraction`.
            folder: folder for checkpoints and the log of the run, and of each trial of a search.
            resume: resume the run in `folder`.
        """
        data = as_series(self, X, reset=True)
        target = self._targets(y, data)
        if auxiliary is not None and self.per_step:
            raise ValueError(
                "`auxiliary` is for whole series; with `per_step`, add auxiliary targets as columns of `y`"
            )
        rows = weight_tensor(sample_weight, len(data))
        groups, order = groups_of(groups, len(data)), order_of(order, len(data))
        train, back = self._hold_back(len(data), None, groups, order, validation is not None)
        outcomes = None if auxiliary is None else standardised(auxiliary, len(data), train)
        if len(back):
            validation = data[back], target[target_rows(data, back, self.per_step)]
            target, data = target[target_rows(data, train, self.per_step)], data[train]
            rows, groups, order = (None if each is None else each[train] for each in (rows, groups, order))
        self.n_outputs_ = 0 if target.ndim == 1 else target.shape[1]
        table = target.reshape(len(target), -1)
        known = np.isfinite(table)
        if (np.abs(table[known]) > _LARGEST).any():
            raise ValueError(f"`y` must be numbers of at most {_LARGEST:g}; some are larger. Scale them first.")
        if not known.any(axis=0).all():
            raise ValueError("`y` must have a known value for each output; one output has only NaN")
        self._mean = np.array([column[some].mean() for column, some in zip(table.T, known.T, strict=True)])
        spread = np.array([column[some].std() for column, some in zip(table.T, known.T, strict=True)])
        self._scale = np.where(spread > 0, spread, 1.0)
        self._fit_encoders(data)
        held = None if validation is None else self._held_out(*validation)
        run = {"folder": folder, "resume": resume}
        scaled = self._scaled(table)
        judges = None if held is None else (held[0], self._scaled(held[1]))

        def parts(encoder: SeriesEncoder) -> tuple[Part, Part | None]:
            return self._part(encoder, data, scaled), None if judges is None else self._part(encoder, *judges)

        def loss_of(network: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
            return self._loss_of(network, sample, target, rows if target is scaled else None)

        self._fit_members(parts, table.shape[1], loss_of, None, run, outcomes, groups, order)
        self.residuals_ = self._held_out_residuals(data, target, rows, groups, order) if self.intervals else None
        return self

    def _scaled(self, table: Values) -> Tensor:
        return torch.from_numpy((table - self._mean) / self._scale).float()

    def _part(self, encoder: SeriesEncoder, data: SeriesSet, scaled: Tensor) -> Part:
        return Part(Prepared.of(encoder, data, every_step=self.per_step, device=self.device), scaled)

    def _held_out_residuals(
        self,
        data: SeriesSet,
        target: Values,
        weights: Tensor | None,
        groups: npt.NDArray[Any] | None,
        order: npt.NDArray[Any] | None,
    ) -> Residuals:
        """Return how far predictions of folds were off, by networks trained on the others as these were."""
        S, choice = len(data), self.choice_
        owners = np.repeat(np.arange(S), data.lengths) if self.per_step else np.arange(S)
        off = np.full((len(target), max(self.n_outputs_, 1)), np.nan)
        cuts = list(folds(S, 1 / _FOLDS, _FOLDS, None, self.seed_, groups, order))

        def judged_by(number: int, again: bool) -> Values | None:
            rows, held = cuts[number]
            inside, outside = np.isin(owners, rows), np.isin(owners, held)
            if not outside.any():
                return None
            one = clone(self).set_params(
                intervals=False, epochs=choice.epochs, learning_rate=choice.learning_rate, front_end=choice.front_end,
                summary=choice.summary,
                validation_fraction=0.0, random_state=(self.seed_ + number + 1) % 2**31, verbose=False,
            )  # fmt: skip
            one.fit(data[rows], target[inside], None if weights is None else weights[rows].numpy())
            apart: Values = (target[outside] - one.predict(data[held])).reshape(int(outside.sum()), -1)
            return apart

        names = [f"fold {number + 1} of {len(cuts)} for intervals" for number in range(len(cuts))]
        judged = in_processes(judged_by, range(len(cuts)), self.n_jobs, names=names, show=self.verbose)
        for (_, held), apart in zip(cuts, judged, strict=True):
            if apart is not None:
                off[np.isin(owners, held)] = apart
        if not np.isfinite(off).all(axis=1).any():
            raise ValueError("`intervals` need held-out series; there are too few series")
        return Residuals.of(off)

    def _held_out(self, X: Any, y: Any) -> tuple[SeriesSet, Values]:
        data = as_series(self, X, reset=False)
        target = self._targets(y, data)
        table = target.reshape(len(target), -1)
        if table.shape[1] != len(self._mean):
            raise wrong_shape("validation", "(S, K)", [len(target), len(self._mean)], target.shape)
        return data, table

    def _loss_of(self, network: nn.Module, sample: SeriesBatch, target: Tensor, rows: Tensor | None) -> Loss:
        if not self.per_step:
            wanted = target[sample.rows]
            each = None if rows is None else rows[sample.rows].unsqueeze(1).expand(wanted.shape)
            return squared_error(network(*sample[:5]), wanted, weights=each)
        out: Tensor = network.prefixes(*sample[:5])  # type: ignore[operator]
        step = torch.arange(out.shape[1])
        inside = step < sample.counts.unsqueeze(1)  # (B, T)
        wanted = target[(sample.first.unsqueeze(1) + step)[inside]]
        if rows is not None:
            rows = rows[sample.rows].unsqueeze(1).expand(inside.shape)[inside].unsqueeze(1).expand(wanted.shape)
        return squared_error(taken(out, inside), wanted, torch.isfinite(wanted), rows)

    def predict(self, X: Any) -> Values:
        """Return the predicted values, shaped as the targets of `fit`."""
        series = self.encode(X)
        if not self.per_step:
            return self._shaped(self._outputs(series, self._unscaled))
        values = self._shaped(self._evolution(series, self._unscaled).outputs)
        return (
            values
            if isinstance(X, SeriesSet | EncodedSeries | list)
            else values.reshape(*np.shape(X)[:2], *values.shape[1:])
        )

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Values, Values]:
        """Return the lower and the upper ends of intervals, each shaped as `predict` returns values.

        Args:
            X: series like those of `fit`.
            coverage: share of true values that the intervals are to hold, in (0, 1).

        Raises:
            ValueError: the model was fitted without `intervals`, or no such share.

        """
        check_is_fitted(self, "networks_")
        if self.residuals_ is None:
            raise ValueError("the model has no intervals; fit it with intervals=True")
        return self.residuals_.around(self.predict(X), coverage)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R²; with `per_step` over the samples whose target is known."""
        if not self.per_step:
            return float(super().score(X, y, sample_weight))
        series = self.encode(X)
        wanted = self._targets(y, series.data)
        predicted = self.predict(series).reshape(wanted.shape)
        known = np.isfinite(wanted.reshape(len(wanted), -1)).all(axis=1)
        return float(r2_score(wanted[known], predicted[known]))

    def evolve(self, X: Any, points: int | None = None) -> Evolution:
        """Return the prediction after every step of every series, from the samples up to it.

        Args:
            X: series like those of `fit`.
            points: largest number of steps per series with a prediction, evenly spread, including the last; None for
                all. It bounds the work of networks that read whole series, which read every prefix again.
        """
        return self._evolution_at(X, self._unscaled, points)

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> Any:
        """Take one sample of the live series `id` and return its prediction, a number or (K,), from all so far.

        Arguments as in `CfCClassifier.update`.
        """
        out = self._unscaled(self._update(id, t, values, static)).mean(dim=0).double().numpy()
        return float(out[0]) if self.n_outputs_ == 0 else out

    def _unscaled(self, out: Tensor) -> Tensor:
        return out.double() * torch.from_numpy(self._scale) + torch.from_numpy(self._mean)

    def _shaped(self, outputs: Values) -> Values:
        return outputs[:, 0] if self.n_outputs_ == 0 else outputs

    def _targets(self, y: Any, data: SeriesSet) -> Values:
        """Return (S,) or (S, K) targets, or (N,) or (N, K) with `per_step`, checked."""
        if not self.per_step:
            return checked_values(y, data)
        _refuse_none(y)
        S, N = len(data), len(data.times)
        rows = [np.asarray(row, dtype=np.float64) for row in y] if isinstance(y, list) else None
        target = np.concatenate(rows) if rows and rows[0].ndim else np.asarray(y, dtype=np.float64)
        if target.ndim >= 2 and len(target) == S and target.shape[0] * target.shape[1] == N:
            target = target.reshape(N, *target.shape[2:])
        if target.ndim not in (1, 2) or len(target) != N:
            raise wrong_shape("y", "(N,) or (N, K)", [N], target.shape, "One target per sample, NaN if not known.")
        if np.isinf(target).any():
            raise ValueError(f"`y` must be finite, or NaN if not known; {int(np.isinf(target).sum())} are infinite")
        return target

    def _choices(self) -> dict[str, Any]:
        return {**super()._choices(), "residuals_": self.residuals_}

    def _without_choosing(self) -> dict[str, Any]:
        return {"intervals": False}

    def _learned(self) -> dict[str, Any]:
        learned = {"mean": self._mean.tolist(), "scale": self._scale.tolist(), "outputs": self.n_outputs_}
        return learned if self.residuals_ is None else learned | {"residuals": self.residuals_.stored()}

    def _relearn(self, facts: Mapping[str, Any]) -> int:
        self._mean = np.array(facts["mean"], dtype=np.float64)
        self._scale = np.array(facts["scale"], dtype=np.float64)
        K = int(facts["outputs"])
        fits = self._mean.shape == self._scale.shape == (max(K, 1),) and K >= 0
        if not fits or not np.isfinite(self._mean).all() or not (self._scale > 0).all():
            raise ValueError("`mean` and `scale` must be finite numbers, one per output, with scales over 0")
        self.n_outputs_ = K
        stored = facts.get("residuals")
        self.residuals_ = None if stored is None else Residuals.restored(stored, max(K, 1))
        return max(K, 1)


def checked_values(y: Any, data: SeriesSet) -> Values:
    """Return (S,) or (S, K) targets of a set of series, or refuse them."""
    _refuse_none(y)
    return check_values(_numbers(y), len(data))


def _refuse_none(y: Any) -> None:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None: one value per series.")


def _numbers(y: Any) -> Any:
    """Return targets as numbers where texts hold them, as scikit-learn does."""
    target = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    return target.astype(np.float64) if target.dtype.kind in "OUS" else target
