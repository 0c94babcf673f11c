"""Base class of the estimators: encoding, members, outputs for series and over time, streams and saving."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, check_random_state
from torch import Tensor

from liquidtime._checks import check_choice, check_rate, check_size
from liquidtime.baselines.features.temperature import Calibration
from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.container import neighbours
from liquidtime.distributed import check_jobs
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.faces.fitting import Fitting, Problem
from liquidtime.estimators.faces.prefixes import last_samples, prefixes
from liquidtime.estimators.faces.series_model import SeriesModel
from liquidtime.estimators.live import (
    LiveSeries,
    Memory,
    ScaleStep,
    Streams,
    fingerprint_of,
    outputs_at_samples,
    outputs_at_steps,
)
from liquidtime.estimators.network.budget import BUDGETS, QUICK, Choice, Trial
from liquidtime.estimators.network.finite import finite
from liquidtime.estimators.network.front_end import AUTO, FRONT_ENDS, ConvolutionalReader, takes_front_end
from liquidtime.estimators.network.inputs import SeriesBatches, as_series
from liquidtime.estimators.network.members import PREDICT_BATCH, LossOf, Part, PartsOf, Rows, held_back, held_loss
from liquidtime.estimators.network.network import SeriesNetwork, channel_dropout_of
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.estimators.network.reader import SeriesReader, WholeSeriesReader
from liquidtime.estimators.network.scales import SCALES, check_width, encoders_of
from liquidtime.estimators.network.summary import REFUSAL, SUMMARIES, Summary
from liquidtime.layers import Recurrent
from liquidtime.networks import Network, check_network, reads_whole_series, recurrent_layer
from liquidtime.training import TrainResult
from liquidtime.training.devices import device_of, on_device

_STEPS = 2**20
"""Number of steps of series whose outputs over time are computed together."""


@dataclass(frozen=True)
class Evolution:
    """Predictions over time; series i has the rows offsets[i] to offsets[i + 1].

    Args:
        times: (N,) times of the steps, in the time unit of training.
        offsets: (S + 1,) first row of each series, and N.
        outputs: (N, K) predictions from the samples up to each step: probabilities, or values.
    """

    times: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.int64]
    outputs: npt.NDArray[np.float64]


class SeriesEstimator(SeriesModel):
    """Networks on encoded series, with scikit-learn's conventions: arguments are stored unchanged.

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
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core.
            Results do not depend on it. None computes in this process, with the threads of torch.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda" or "mps", "cuda:1" for
            the second GPU, or "auto" for CUDA, MPS or the CPU, whichever is available first. Fitted models are kept on
            the CPU, which handles live series, and saved without their device. We have never run this on a GPU.
        verbose: whether to show a progress line while training.
    """

    _kind: ClassVar[str]
    """Name of the estimator in model folders."""
    _purpose: ClassVar[str]
    """Purpose of the model, for its card: "This model <purpose>."."""
    _deviation: ClassVar[float] = 1.0
    _learning_rate: ClassVar[float] = 1e-3
    """Learning rate if `learning_rate` is None and there is no search."""
    _tried: list[Trial] | None = None
    """Trials that an estimator made by itself before `Fitting`; None lets that search."""
    choice_: Choice
    front_end_: str | None
    summary_: Summary | None = None
    trials_: list[Trial]
    seed_: int
    results_: list[TrainResult]
    encoder_: SeriesEncoder
    encoders_: list[SeriesEncoder]
    networks_: list[SeriesNetwork]

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
        budget: str = QUICK,
        front_end: str | None = None,
        summary: str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.network = network
        self.hidden_size = hidden_size
        self.backbone_units = backbone_units
        self.num_layers = num_layers
        self.read_out_units = read_out_units
        self.dropout = dropout
        self.channel_dropout = channel_dropout
        self.bin_width = bin_width
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.n_estimators = n_estimators
        self.budget = budget
        self.front_end = front_end
        self.summary = summary
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def _check_settings(self) -> None:
        for name in ("hidden_size", "backbone_units", "num_layers", "read_out_units", "n_estimators"):
            check_size(name, getattr(self, name))
        for name in ("epochs", "batch_size"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
        check_rate("dropout", self.dropout)
        if self.channel_dropout is not None:
            check_rate("channel_dropout", self.channel_dropout)
        check_choice("budget", self.budget, BUDGETS)
        if self.front_end is not None:
            check_choice("front_end", self.front_end, (AUTO, *FRONT_ENDS))
        if self.front_end in FRONT_ENDS and not takes_front_end(self.network):
            raise ValueError(
                f"`front_end` must be None or {AUTO!r} for network={self.network!r}, which reads samples itself; "
                f"got {self.front_end!r}"
            )
        if self.summary is not None:
            check_choice("summary", self.summary, (AUTO, *SUMMARIES))
        check_rate("validation_fraction", self.validation_fraction)
        check_size("patience", self.patience, 0)
        check_width(self.bin_width)
        check_jobs(self.n_jobs)
        device_of(self.device)
        check_network(self.network, self.num_layers)

    def _hold_back(
        self,
        S: int,
        strata: npt.NDArray[Any] | None,
        groups: npt.NDArray[Any] | None,
        order: npt.NDArray[Any] | None,
        own: bool,
    ) -> tuple[Rows, Rows]:
        """Check the settings, draw the seed, and return the rows to train on and those that choose the best epoch.

        Args:
            S: number of series.
            strata: (S,) classes, or None.
            groups: (S,) groups that are not split, or None.
            order: (S,) when each series was taken, or None.
            own: whether the caller has series of its own to choose the epoch by, so that none are held back.
        """
        self._check_settings()
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        return held_back(S, 0.0 if own else self.validation_fraction, strata, self.seed_, groups, order)

    def _fit_encoders(self, data: SeriesSet) -> None:
        width = self._width()
        whole = width == SCALES and reads_whole_series(self.network)
        self.encoders_ = encoders_of(data, None if whole else width, self.n_estimators)
        self.encoder_ = self.encoders_[0]
        self.n_series_ = len(data)
        self.__dict__.pop("_streams", None)  # those of another fit

    def _width(self) -> float | str | None:
        """Return the bin width that encoders are fitted with."""
        return self.bin_width

    def _fit_members(
        self,
        parts: PartsOf,
        outputs: int,
        loss_of: LossOf,
        strata: npt.NDArray[Any] | None,
        run: Mapping[str, Any],
        outcomes: Tensor | None = None,
        groups: npt.NDArray[Any] | None = None,
        order: npt.NDArray[Any] | None = None,
    ) -> None:
        """Train the networks; arguments as in `Problem`."""
        Fitting(self, Problem(parts, outputs, loss_of, strata, groups, run, outcomes, order)).run()

    def refit(self, X: Any, y: Any = None, **fit: Any) -> Self:
        """Fit again to other series, usually more of them, with the choices of the last fit.

        Epochs, learning rate, front end, summary, temperature and threshold remain as chosen; nothing is held out to
        choose them again.

        Args:
            X: series like those of `fit`.
            y: targets of the series.
            **fit: other arguments of `fit`.
        """
        check_is_fitted(self, "networks_")
        again, kept = clone(self), self._choices()
        if getattr(self, "trials_", ()):  # a model that was read from a folder has none
            chosen = dataclasses.asdict(self.choice_)
            again.set_params(**{name: value for name, value in chosen.items() if name in again.get_params(deep=False)})
        again.set_params(**self._without_choosing()).fit(X, y, **fit)
        settings = self.get_params(deep=False)
        self.__dict__.update(again.__dict__)
        self.set_params(**settings)
        self.__dict__.update(kept)
        return self

    def _choices(self) -> dict[str, Any]:
        """Return what was chosen by held-out series and stays in `refit`, by attribute."""
        return {"trials_": self.trials_} if hasattr(self, "trials_") else {}

    def _without_choosing(self) -> dict[str, Any]:
        """Return settings under which `fit` does not choose again what `_choices` has."""
        return {}

    def _judged(self, network: SeriesNetwork, part: Part, rows: Rows, problem: Problem) -> tuple[float, Calibration]:
        """Return the loss of a network on held-out series, by which budgets are compared, and how sure it may be."""
        return held_loss(network, part, rows, problem.loss_of), Calibration()

    def _block_loss(
        self, network: SeriesNetwork, part: Part, rows: Rows, problem: Problem, calibration: Calibration
    ) -> float:
        """Return the loss of a network on a block of the held-out series; NaN where none of them teaches anything."""
        return held_loss(network, part, rows, problem.loss_of)

    def _calibrate(self, calibration: Calibration) -> None:
        """Take the calibration of the chosen trial; only classifiers have a use for it."""

    def _encoder_of(self, member: int) -> SeriesEncoder:
        return self.encoders_[member % len(self.encoders_)]

    def _make_network(self, outputs: int, encoder: SeriesEncoder, pieces: PiecewiseLinear) -> SeriesNetwork:
        return SeriesNetwork(
            self._make_layer(encoder),
            copy.deepcopy(pieces),
            outputs,
            self.read_out_units,
            self.dropout,
            channel_dropout_of(len(encoder.channels_)) if self.channel_dropout is None else self.channel_dropout,
            encoder.layout_.channel_of,
        )

    def _make_layer(self, encoder: SeriesEncoder) -> Recurrent | WholeSeriesReader:
        if self.front_end_ is not None:
            units = (self.hidden_size, self.backbone_units, self.num_layers)
            return ConvolutionalReader(self.network, self.front_end_, *units, encoder.input_size_, encoder.layout_)
        if reads_whole_series(self.network):
            sizes = (self.hidden_size, self.num_layers, encoder.input_size_)
            return SeriesReader(self.network, *sizes, encoder.layout_)
        return recurrent_layer(
            self.network,
            encoder.input_size_,
            self.hidden_size,
            self.backbone_units,
            self.num_layers,
            encoder.layout_.mask_of,
        )

    def encode(self, X: Any) -> EncodedSeries:
        """Encode series for the networks, so that several methods can take the result instead of X.

        Args:
            X: series like those of `fit`, or the result of this method.

        Raises:
            ValueError: the number of features differs from `fit`, there are no series, or they were encoded for another
                model.

        """
        check_is_fitted(self, "networks_")
        if not isinstance(X, EncodedSeries):
            return EncodedSeries(self.encoders_, as_series(self, X, reset=False), self.summary_)
        if X.encoders is not self.encoders_:
            raise ValueError("`X` was encoded for another model; pass the original series")
        return X

    def _readers(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the position of each encoder, and the members that read by it."""
        E = len(self.encoders_)
        for place in range(E):
            yield place, list(range(place, len(self.networks_), E))

    def _outputs(self, series: EncodedSeries, finish: Callable[[Tensor], Tensor]) -> npt.NDArray[np.float64]:
        """Return (S, K) the members' mean output after each series' last sample, each brought to scale by `finish`."""
        outputs: Tensor | None = None  # (M, S, K)
        with torch.inference_mode():
            for place, members in self._readers():
                prepared = series.prepared(place, device=self.device)
                networks = on_device([self.networks_[member] for member in members], prepared.device)
                for sample in SeriesBatches(prepared, PREDICT_BATCH):
                    for member, network in zip(members, networks, strict=True):
                        output = finish(network(*sample[:5]).cpu())
                        if outputs is None:
                            outputs = output.new_empty(len(self.networks_), len(series), output.shape[1])
                        outputs[member, sample.rows] = output
        assert outputs is not None
        return finite(outputs.mean(dim=0).double().numpy())

    def _evolution(self, series: EncodedSeries, finish: Callable[[Tensor], Tensor]) -> Evolution:
        """Return the members' mean output after every step of the first encoder, some series at a time."""
        first = series.prepared(every_step=True)
        outputs: npt.NDArray[np.float64] | None = None  # (N, K)
        with torch.inference_mode():
            for rows in neighbours(first.offsets, _STEPS):
                part = series if rows == slice(0, len(series)) else series[np.arange(rows.start, rows.stop)]
                said = finite(self._outputs_over_time(part, finish).mean(dim=0).double().numpy())
                if outputs is None:
                    outputs = np.empty((int(first.offsets[-1]), said.shape[1]))
                outputs[first.offsets[rows.start] : first.offsets[rows.stop]] = said
        assert outputs is not None
        return Evolution(first.times, first.offsets, outputs)

    def _evolution_at(self, X: Any, finish: Callable[[Tensor], Tensor], points: int | None) -> Evolution:
        """Return the members' mean output after some samples of every series; `points` as `evolve` takes it."""
        series = self.encode(X)
        if points is None:
            return self._evolution(series, finish)
        first = series.prepared()
        ends = series.data.times[last_samples(series.data, self.encoder_.bin_width)]
        chosen = prefixes(series.data, ends, first.offsets, check_size("points", points))
        one_by_one = len(self.encoders_) > 1  # coarser scales read one sample after the other
        if one_by_one if self.encoder_.bin_width else self.reads_whole_series:
            said = [self._outputs(self.encode(head), finish) for head in chosen.of(series.data)]
        else:
            said = [self._evolution(series, finish).outputs[chosen.rows]]
        if not said:
            return self._evolution(series, finish)
        return Evolution(first.times[chosen.rows], chosen.offsets, np.concatenate(said))

    @property
    def reads_whole_series(self) -> bool:
        """Whether all samples are read again when a series has one more."""
        return self.summary_ is not None or self.front_end_ is not None or reads_whole_series(self.network)

    def _outputs_over_time(self, series: EncodedSeries, finish: Callable[[Tensor], Tensor]) -> Tensor:
        """Return (M, N, K) the members' outputs after every step of the first encoder."""
        outputs: Tensor | None = None
        for place, members in self._readers():
            networks = [self.networks_[member] for member in members]
            if place == 0:
                prepared = series.prepared(every_step=True, device=self.device)
                runs = outputs_at_steps(prepared, on_device(networks, prepared.device))
            else:
                scale = ScaleStep(self.encoders_[place], networks)
                runs = outputs_at_samples(scale, series.data, self.summary_)
                if self.encoder_.bin_width:
                    runs = runs[:, torch.from_numpy(last_samples(series.data, self.encoder_.bin_width))]
            for member, output in zip(members, map(finish, runs), strict=True):
                if outputs is None:
                    outputs = output.new_empty(len(self.networks_), *output.shape)
                outputs[member] = output
        assert outputs is not None
        return outputs

    def _update(self, id: Any, t: Any, values: Any, static: Mapping[str, Any] | None) -> Tensor:
        """Take a sample of the live series `id`; return (M, K) the outputs of the members, in no order."""
        check_is_fitted(self, "networks_")
        if self.summary_ is not None:
            raise ValueError(REFUSAL)
        return self._live.update(id, t, values, static)

    def _memory(self) -> Memory | None:
        """Return what is to be remembered of a live series besides the networks' states, before its first sample."""
        return None

    @property
    def _live(self) -> Streams:
        """The live series; a model that was just read has none yet."""
        streams: Streams | None = self.__dict__.get("_streams")
        if streams is None:
            start = functools.partial(LiveSeries, ScaleStep.of(self.encoders_, self.networks_), memory=self._memory())
            fingerprint = functools.partial(fingerprint_of, self.encoders_, self.networks_)
            streams = self.__dict__.setdefault("_streams", Streams(start, fingerprint))
        return streams

    @property
    def streams(self) -> Streams:
        """The live series: how many there may be, saving and loading them."""
        check_is_fitted(self, "networks_")
        return self._live

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        streams = state.get("_streams")
        if streams is not None and streams.untouched:
            del state["_streams"]  # made when somebody looked, as `dir` does
        return state

    def reset(self, id: Any = None) -> None:
        """Forget the live series `id`, or all live series if it is None."""
        check_is_fitted(self, "networks_")
        self._live.forget(id)

    def save(
        self,
        path: str | Path,
        *,
        metrics: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Save the model as a folder, which `liquidtime.load` reads; see `liquidtime.estimators.files.model_folder`.

        Args:
            path: the folder. If it exists and holds a model, that model is kept as `<name>.previous`.
            metrics: figures to store with the model, ready for JSON.
            files: other files for the folder, by name, such as a report.
        """
        from liquidtime.estimators.files.model_folder import save

        save(self, path, metrics, files)

    def _learned(self) -> dict[str, Any]:
        """Return what this kind has learned besides encoder and weights, ready for JSON."""
        raise NotImplementedError

    def _relearn(self, facts: Mapping[str, Any]) -> int:
        """Take what `_learned` returned, checked, and return the number of outputs of the networks."""
        raise NotImplementedError
