from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.future_times import last_times
from liquidtime.data.encoding.observations import Observations, Past
from liquidtime.data.encoding.plausible import Plausible
from liquidtime.estimators.faces.base import SeriesEstimator
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.faces.forecast_search import search
from liquidtime.estimators.faces.forecast_series import ForecastSeries
from liquidtime.estimators.faces.forecasts import Forecasts
from liquidtime.estimators.forecast import (
    BEYOND,
    PARTS,
    TREND,
    CarriedForecast,
    Draw,
    ForecastNetwork,
    Recent,
    Scene,
    Seen,
    Standard,
    answers_of,
    find_channels,
    find_seasons,
    fit_blend,
    forecast_folds,
    known_from,
    lesson_of,
    said_of_cuts,
)
from liquidtime.estimators.forecast.answers import (
    Answers,
    contexts_after,
    network_and_naive,
    said_of_contexts,
    said_of_series,
)
from liquidtime.estimators.forecast.calibration import check_reach, usual_horizon, windows
from liquidtime.estimators.forecast.carried import CarriedAnswers
from liquidtime.estimators.forecast.stored import LINES, read_learned, stored_learned
from liquidtime.estimators.forecast.usual import usual_of
from liquidtime.estimators.network.budget import SEARCH
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, as_series
from liquidtime.estimators.network.members import Part, groups_of, order_of
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.networks import Network, reads_whole_series
from liquidtime.training import Loss, squared_error

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
_CUTS, _FEWEST_CUTS, _COLUMNS, _QUESTIONS = 32, 8, 4096, 4
"""Most and fewest cuts of a series in a training step, columns that the read-out may see at all of them together, and
later samples that each asks for."""
_SOME = 300
"""Series, or windows of them, that what is usual is measured on."""
_FARTHEST = 10.0
"""Where a target is cut in training, in standard deviations: one outlier is not to drown the rest."""


class CfCForecaster(Forecasts, SeriesEstimator):
    """Forecast channels of irregular series at any later times.

        u = network(samples up to now)
        network's forecast(t) = last + a(u, t) · slope · s + e(u, t) · trend · s + (1 - exp(-s / tau)) · rest(u, t),
                                s = t - time of last
        forecast(t) = mixture of the network, the last value, the straight line, the mean so far, the seasonal naive

    All of these tend to the last value as the gap shrinks. In training, the network predicts later samples from many
    points in every series. The weights of the mixture are at least 0, sum to 1, differ by channel and change smoothly
    with the gap. Single values far beyond all others, such as 1e6 among values of one, are read as not observed, with
    a warning. The weights and the prediction intervals are chosen on data that a network has not seen: a fifth of the
    series, or the ends of the series if there are few; a search chooses the epochs in the same way. So `fit` trains
    more networks than it keeps. If times are time stamps, the network knows the hour, weekday and season; otherwise it
    knows the period that the series show, if any.

        model = CfCForecaster(random_state=0).fit(data)
        model.predict(new, times)            (S, Q, C) at times (Q,) or (S, Q), on the clock of each series
        model.predict(new, horizons=[1, 6])  this long after the last sample of each series
        model.predict(new, horizons=[6], intervals=0.9)    value, low, high
        model.parts(new, horizons=[6])       the forecast of each part of the mixture, and its weight
        model.compare(new)                   the errors, next to those of naive forecasts

    Categorical channels are inputs only.

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
            of the set.
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
        horizon: longest horizon to forecast, in the time unit of the set; None for the length of the last quarter of
            the samples in most series. Times beyond twice the horizon are forecast as if they were at that distance,
            with the phase of the season and the known channels of their own.
        targets: channels to forecast; None for all numeric channels. The others are inputs.
        known: numeric channels whose future values are known, such as a timetable or a weather forecast. They are not
            forecast; forecasts use their values at the requested times.
        budget: "quick" or "search". A search tries 1, 4 and 10 times the epochs of `epochs=None`, as long as that helps
            on held-out data and does not read too many samples.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core.
            Results do not depend on it. None computes in this process, with the threads of torch.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda" or "mps", "cuda:1" for
            the second GPU, or "auto" for CUDA, MPS or the CPU, whichever is available first. Fitted models are kept on
            the CPU, which handles live series, and saved without their device. We have never run this on a GPU.
        verbose: whether to show a progress line while training.

    Attributes:
        channels_: names of the C channels that are forecast.
        horizon_: longest horizon in training.
        period_: period of the seasonal naive forecast; None if the series show none.
        blend_: weights and error quantiles of the mixture, by channel and gap.
        trials_: the numbers of epochs that were tried, with the squared error of the network alone.
        encoder_: the fitted `SeriesEncoder` of the first network.
        encoders_: one encoder per time scale; network m uses encoder m modulo the number of encoders.
        networks_: the trained networks.
        results_: one `TrainResult` per network.
        seed_: the random seed that was used.
    """

    _kind: ClassVar[str] = "CfCForecaster"
    _purpose: ClassVar[str] = "forecasts irregular series at any later time"
    _learning_rate: ClassVar[float] = 2e-3
    _usual: Tensor | None = None
    """(4, C) what is usual of the training series; None for networks of a folder that know of none."""
    _carried: CarriedForecast | None = None
    """The forecast of a folder of the first form, which has no mixture."""

    def __init__(
        self,
        network: Network = "cfc",
        hidden_size: int = 32,
        backbone_units: int = 64,
        num_layers: int = 1,
        read_out_units: int = 64,
        dropout: float = 0.5,
        channel_dropout: float = 0.3,
        bin_width: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float = 1e-2,
        validation_fraction: float = 0.0,
        patience: int = 0,
        n_estimators: int = 1,
        horizon: float | None = None,
        targets: Sequence[str] | None = None,
        known: Sequence[str] | None = None,
        budget: str = SEARCH,
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
            budget=budget, random_state=random_state, n_jobs=n_jobs, device=device,
            verbose=verbose,
        )  # fmt: skip
        self.horizon = horizon
        self.targets = targets
        self.known = known

    def _check_settings(self) -> None:
        super()._check_settings()
        if reads_whole_series(self.network):
            raise ValueError(
                f"`network` must run step by step to forecast, such as 'cfc'; {self.network!r} reads whole "
                "series and has no state to continue from."
            )
        if isinstance(self.bin_width, str):
            raise ValueError(f"`bin_width` must be one width for all networks, or None; got {self.bin_width!r}")
        if self.horizon is not None and not (np.isfinite(self.horizon) and self.horizon > 0):
            raise ValueError(f"`horizon` must be finite and greater than 0, or None; got {self.horizon!r}")

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        order: Any = None,
        validation: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on series X; one long series is enough.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: ignored; the series are their own targets.
            groups: (S,) group of each series; a group is held out as a whole. None for no groups.
            order: (S,) date or order of each series, so that later ones are held out; None for no order.
            validation: series to choose the best epoch with, instead of `validation_fraction`.
            folder: folder for checkpoints and the log of the run.
            resume: resume the run in `folder`.

        Raises:
            ValueError: no series with two samples, no channel that is a number, targets or known channels that are
                none.

        """
        data = as_series(self, X, reset=True)
        held = None if validation is None else as_series(self, validation, reset=False)
        groups, order = groups_of(groups, len(data)), order_of(order, len(data))
        some = (data.lengths >= 2).astype(np.int64)
        train, back = self._hold_back(len(data), some, groups, order, validation is not None)
        if len(back):
            data, held = data[train], data[back]
            groups, order = (None if each is None else each[train] for each in (groups, order))
        self._prepare(data)
        fold = forecast_folds(data, 1, self.seed_, groups, order)[0]
        self._tried, (judged,) = search(self, [fold])
        self._train(data, held, {"folder": folder, "resume": resume})
        C, J = judged.parts.shape[2:]
        parts, truth, since = judged.parts.reshape(-1, C, J), judged.truth.reshape(-1, C), judged.since.reshape(-1, C)
        self.blend_ = fit_blend(parts, truth, since, fold.units)
        return self

    def refit(self, X: Any, y: Any = None, **fit: Any) -> Self:
        """Train again on other series, usually more of them, and keep epochs and mixture as they were chosen.

        Args:
            X: series like those of `fit`.
            y: ignored.
            **fit: `folder` and `resume`, as in `fit`; `groups` and `order` have no use, as nothing is held out.
        """
        check_is_fitted(self, "networks_")
        if not self.trials_ or self._carried is not None:  # read from a folder, which does not say how long it took
            return self.fit(X, **fit)
        data = as_series(self, X, reset=True)
        self._prepare(data)
        self._train(data, None, {name: fit[name] for name in ("folder", "resume") if name in fit})
        return self

    def _prepare(self, data: SeriesSet) -> None:
        """Set what all networks have in common: how series are read, and what is forecast."""
        if not (data.lengths >= 2).any():
            raise ValueError("`X` must have series of at least two samples: there is nothing to forecast")
        self._carried = None
        plausible = Plausible.of(data, self.known or ())
        self._fit_encoders(plausible.clean(data))
        for encoder in self.encoders_:
            encoder.plausible = plausible
        if plausible.count:
            names = ", ".join(repr(name) for name in plausible.bounds)
            warnings.warn(
                f"{plausible.count} values of {names} lie more than 100 times as far from the median as usual, between "
                "ordinary ones; such values are taken for faults and read as not observed",
                UserWarning,
                stacklevel=3,
            )
        self._find_channels()
        self.horizon_ = float(usual_horizon(windows(data)) if self.horizon is None else self.horizon)
        check_reach(data, self.horizon_)
        steps, scale = self.encoder_.steps(data), self.encoder_.time_scale_
        standard, known = (Standard.of(steps.values[:, places]) for places in (self._places, self._known))
        self._scene = Scene(standard, find_seasons(steps, self._places, scale), scale, known)
        self._usual = usual_of(*self._some(data), self._scene, self.horizon_)
        self._watch(self._places, 0.0)

    def _some(self, data: SeriesSet) -> tuple[SeriesSet, Tensor]:
        """Return steps and lessons of some series, evenly drawn, that tell what is usual."""
        pieces = windows(data)
        some = pieces[np.unique(np.linspace(0, len(pieces) - 1, min(_SOME, len(pieces))).astype(np.int64))]
        steps = self.encoder_.steps(some)
        return steps, lesson_of(steps, self._places, self._scene, self._starts(some), self.horizon_, self._known)

    def _watch(self, places: Sequence[int], reach: float) -> None:
        """Remember channels of live series, and how far back at least."""
        self.period_ = self._scene.seasons.period
        self._watched = list(places)
        self._reach = max(reach, TREND * self.encoder_.time_scale_, self.period_ or 0.0)

    def _train(self, data: SeriesSet, held_out: SeriesSet | None, run: Mapping[str, Any]) -> None:
        """Train the members by the best of the trials."""
        part = self._part(windows(data))
        judged = None if held_out is None else self._part(windows(held_out))
        self._fit_members(lambda _: (part, judged), self.read_out_units, self._loss_of, None, run)

    @property
    def has_intervals(self) -> bool:
        """Whether there are prediction intervals; a folder of an earlier version has none."""
        return self._carried is None

    def _find_channels(self) -> None:
        self._places, self._known = find_channels(self.encoder_, self.targets, self.known)
        self.channels_ = tuple(self.encoder_.channels_[place] for place in self._places)

    def _part(self, data: SeriesSet) -> Part:
        steps = self.encoder_.steps(data)
        lesson = lesson_of(steps, self._places, self._scene, self._starts(data), self.horizon_, self._known)
        return Part(Prepared.of(self.encoder_, data, every_step=True, device=self.device), lesson)

    def _starts(self, data: SeriesSet) -> Values:
        return self._scene.seasons.starts(data.origins, len(data), self.encoder_.time_unit_)

    def _make_network(self, outputs: int, encoder: SeriesEncoder, pieces: PiecewiseLinear) -> SeriesNetwork:
        if self._carried is not None:
            return super()._make_network(outputs, encoder, pieces)
        return ForecastNetwork(
            self._make_layer(encoder), copy.deepcopy(pieces), outputs, self.read_out_units, self.dropout,
            self.channel_dropout, encoder.layout_.channel_of, channels=len(self.channels_),
            phases=self._scene.seasons.size, units=self.read_out_units, known=len(self._known), usual=self._usual,
        )  # fmt: skip

    def _loss_of(self, network: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
        """Cut each series at many steps, ask for later ones, and compare; at random in training, at fixed ones else."""
        assert isinstance(network, ForecastNetwork)
        columns = sample.x.shape[2] + sample.history.shape[-1]
        cuts = max(_FEWEST_CUTS, min(_CUTS, _COLUMNS // columns))  # the more channels, the dearer is a cut
        draw = Draw.of(sample, cuts, _QUESTIONS, self.horizon_ / self._scene.time_scale, network.training)
        anchors, asked, truth, counts = answers_of(draw, sample, target, self._scene)
        said = said_of_cuts(network, sample, draw.cut, anchors, asked)
        return squared_error(said, truth.clamp(-_FARTHEST, _FARTHEST), counts)

    def encode(self, X: Any) -> ForecastSeries:
        """Encode series for the networks, so that several methods can take the result instead of X.

        Args:
            X: series like those of `fit`, or the result of this method.
        """
        check_is_fitted(self, "networks_")
        if isinstance(X, EncodedSeries):
            return cast(ForecastSeries, SeriesEstimator.encode(self, X))
        return ForecastSeries(self.encoders_, as_series(self, X, reset=False), self._known)

    def _answers(self, series: ForecastSeries, gaps: Values, sizes: list[int] | None) -> Answers | CarriedAnswers:
        if self._carried is not None:
            prepared = series.prepared(every_step=True)
            return CarriedAnswers(self._carried.predict(self.networks_, prepared, gaps), sizes)
        parts, since = self._said(series, self._seen(series), gaps)
        return Answers(parts, since, PARTS, self.blend_, self._scene.standard, sizes)

    def _seen(self, series: ForecastSeries) -> Seen:
        """Return what forecasts of whole series start from."""
        steps = self.encoder_.steps(series.data)
        past, static = Observations.of(steps, self._watched).at_ends(steps), self.encoder_.encode_static(steps.static)
        now = last_times(steps)
        known = series.known_at(now[:, None])[:, 0]
        return self._as_seen(past, now, self._starts(series.data), static, known, series.known_at)

    def _as_seen(self, past: Past, now: Values, starts: Values, static: Any, known: Values, known_at: Any) -> Seen:
        targets = tuple(self._watched.index(place) for place in self._places)
        return Seen(past, targets, now, starts, static.astype(np.float64), known, known_at)

    @property
    def _farthest(self) -> float:
        """Largest scaled gap in the inputs; no training example says where lines lead beyond it."""
        return BEYOND * self.horizon_ / self._scene.time_scale

    def _said(self, series: ForecastSeries, context: Seen, gaps: Values) -> tuple[Values, Values]:
        """Return (S, Q, C, J) forecasts of the `PARTS` at scaled gaps (S, Q), and time since the last values."""
        anchors, asked = context.asked(self._scene, gaps, self._farthest)
        prepared = series.prepared(device=self.device)
        return network_and_naive(said_of_series(self.networks_, prepared, anchors, asked), anchors, asked)

    def _answers_after(self, data: SeriesSet, series: Rows, steps: Rows, times: Values) -> Answers:
        return Answers(*self._said_after(data, series, steps, times)[:2], PARTS, self.blend_, self._scene.standard)

    def _said_after(
        self, data: SeriesSet, series: Rows, steps: Rows, times: Values
    ) -> tuple[Values, Values, Seen, Values]:
        """Return (R, 1, C, J) forecasts of the `PARTS` after steps, time since the last values, the past, gaps."""
        grid = self.encoder_.steps(data)
        past, now = Observations.of(grid, self._watched).up_to(series, steps), grid.times[steps]
        static, starts = self.encoder_.encode_static(grid.static)[series], self._starts(data)[series]
        later = Observations.of(data, self._known).at_ends(data).select(series)
        known_at = later.at if self._known else lambda times: np.zeros((*times.shape, 0))
        seen = self._as_seen(past, now, starts, static, known_at(now[:, None])[:, 0], known_at)
        gaps = np.maximum(times - now, 0.0)[:, None] / self._scene.time_scale
        prepared = Prepared.of(self.encoder_, data, every_step=True, device=self.device)
        anchors, asked = seen.asked(self._scene, gaps, self._farthest)
        contexts = contexts_after(self.networks_, prepared, series, steps - grid.offsets[series])
        said = said_of_contexts(self.networks_, contexts, anchors, asked)
        return *network_and_naive(said, anchors, asked), seen, gaps

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> None:
        """Take one sample of the live series `id`; `forecast` then starts from it. Arguments as in the classifier."""
        self._update(id, t, values, static)

    def _memory(self) -> Recent | None:
        return None if self._carried is not None else Recent.start(tuple(self._remembered()), self._reach)

    def _remembered(self) -> list[int]:
        """Return the positions of the channels that live series remember: those watched first."""
        return self._watched + [place for place in self._known if place not in self._watched]

    def _live_answers(self, id: Any, gaps: Values, known: Mapping[str, Any] | None) -> Answers | CarriedAnswers:
        check_is_fitted(self, "networks_")
        if self._carried is not None:
            return CarriedAnswers(self._carried.live(self._live[id], torch.from_numpy(gaps[0]).float())[None])
        parts, since = self._said_live(id, self._seen_live(id, gaps.shape[1], known), gaps)
        return Answers(parts, since, PARTS, self.blend_, self._scene.standard)

    def _seen_live(self, id: Any, Q: int, known: Mapping[str, Any] | None) -> Seen:
        """Return what forecasts of a live series at Q times start from."""
        series = self._live[id]
        memory, D = series.state.memory, len(self._watched)
        assert isinstance(memory, Recent)
        past, now = memory.past(), np.array([memory.step])
        names = [self.encoder_.channels_[place] for place in self._known]
        newest = past.last[0, [self._remembered().index(place) for place in self._known]]
        known_at = known_from(known, names, Q, newest)
        starts = self._scene.seasons.starts(series.state.clock.origins, 1, self.encoder_.time_unit_)
        own = past.select(channels=range(D))
        return self._as_seen(own, now, starts, series.static.numpy(), newest[None], known_at)

    def _said_live(self, id: Any, context: Seen, gaps: Values) -> tuple[Values, Values]:
        """Return (1, Q, C, J) forecasts of the `PARTS` at scaled gaps (1, Q), and time since the last values."""
        outputs = self._live[id].state.outputs
        assert outputs is not None
        anchors, asked = context.asked(self._scene, gaps, self._farthest)
        said = said_of_contexts(self.networks_, outputs.unsqueeze(1), anchors, asked)
        return network_and_naive(said, anchors, asked)

    def _standardised(self, values: npt.NDArray[Any]) -> Values:
        """Return values (N, C) of the targets in standard deviations, as errors are measured."""
        return self._scene.standard.to(values) if self._carried is None else self._carried.to(values)

    def _facts(self) -> dict[str, Sequence[Any]]:
        return {"forecasts": self.channels_}

    def _learned(self) -> dict[str, Any]:
        if self._carried is not None:
            return {"channels": list(self.channels_)}
        return stored_learned(self.channels_, self.horizon_, self._scene, self.blend_)

    def _relearn(self, facts: Mapping[str, Any]) -> int:
        if "values" not in self.encoder_.blocks or {"mask", "since"} - set(self.encoder_.blocks):
            raise ValueError("`blocks` of a forecaster must be values, mask and since")
        self._find_channels()
        if list(self.channels_) != facts["channels"]:
            raise ValueError("`channels` must be those of the encoder that are numbers, or the targets")
        if "form" not in facts:
            self._carried, self.period_ = CarriedForecast(self.encoder_, self._places), None
            return len(self.channels_)
        self.horizon_, self._scene, self.blend_ = read_learned(facts, self.encoder_.time_scale_, len(self._known))
        self._usual = torch.ones(4, len(self.channels_)) if facts["form"] >= LINES else None
        self._watch(self._places, 0.0)
        return self.read_out_units
