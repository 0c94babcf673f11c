from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.future_times import gaps_to, last_times, split_rows
from liquidtime.data.encoding.observations import Observations
from liquidtime.errors import unknown_choice
from liquidtime.estimators.faces.base import SeriesEstimator
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.faces.forecast_test import SHARE, Skill, forecast_test
from liquidtime.estimators.forecast import (
    TREND,
    Blend,
    CarriedForecast,
    Draw,
    ForecastNetwork,
    Recent,
    Scene,
    Standard,
    answers_of,
    find_seasons,
    fit_blend,
    lesson_of,
)
from liquidtime.estimators.forecast.answers import Answers, Forecast, check_level, said_of_contexts, said_of_series
from liquidtime.estimators.forecast.calibration import held_out, tried, usual_horizon, windows
from liquidtime.estimators.forecast.stored import read_learned, stored_learned
from liquidtime.estimators.network.finite import finite
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, as_series
from liquidtime.estimators.network.members import Part
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.networks import Network, reads_whole_series
from liquidtime.training import Loss, squared_error
from liquidtime.training.seeds import derive_seed

Values = npt.NDArray[np.float64]
_CUTS, _QUESTIONS = 32, 4
"""Most cuts of a series in a training step, and later samples that each asks for."""
_FARTHEST = 10.0
"""Where a target is cut in training, in standard deviations: one outlier is not to drown the rest."""


class CfCForecaster(SeriesEstimator):
    """Forecast channels of irregular series at any later times.

        u = network(samples up to now)
        network's forecast(t) = last + a(u, t) · slope · s + (1 - exp(-s / tau)) · rest(u, t),   s = t - time of last
        forecast(t) = mixture of the network, the last value, the straight line, the mean so far, the seasonal naive

    All tend to the last value as the gap shrinks. Training asks for later samples from many cuts of every series at
    once. The weights of the mixture are at least 0, have the sum 1, differ by channel and change smoothly with the gap;
    they are chosen by a network that is trained without a fifth of the series, or of few series without their ends, on
    what it has not seen, and so are the prediction intervals. Hence `fit` trains one network more than it keeps. Where
    times are time stamps the network knows hour, weekday and season; else a period that the series show.

        model = CfCForecaster(random_state=0).fit(data)
        model.predict(new, times)            (S, Q, C) at times (Q,) or (S, Q) of the series' own clock
        model.predict(new, horizons=[1, 6])  this long after each series' last sample
        model.predict(new, horizons=[6], intervals=0.9)    value, low, high
        model.parts(new, horizons=[6])       what each part of the mixture says, and its weight
        model.compare(new)                   the errors, beside those of the naive forecasts

    Categorical channels are inputs and are not forecast.

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
            unit.
        epochs: passes over the training series; None: 6, or as many as it takes for 200 optimiser steps, at most 100,
            unless a search chooses them.
        batch_size: series per batch; None: about a 25th of the series, a power of 2 from 8 to 128.
        learning_rate: highest learning rate of the one-cycle schedule; None: that of the kind of estimator, unless a
            search chooses it.
        weight_decay: weight decay of the AdamW optimiser.
        validation_fraction: share of the training series held back to choose the best epoch; nothing else is learned
            from them, no scale and no mean. 0 trains on all series and takes the last epoch.
        patience: stop after this many epochs without a better validation loss; 0 never stops early.
        n_estimators: networks in the ensemble. Each is trained from its own seed; predictions are averaged.
        horizon: how far ahead the model will be asked, in the set's time unit; None for as far as the last quarter of
            most series' samples lies ahead.
        targets: channels to forecast; None for all that are numbers. The others are inputs.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        verbose: whether to show a progress line while training.

    Attributes:
        channels_: C names of what is forecast.
        horizon_: how far ahead training asked.
        period_: of the seasonal naive forecast; None where the series show none.
        blend_: weights and error quantiles of the mixture by channel and gap.
        encoder_: the fitted `SeriesEncoder` of the first network.
        encoders_: one encoder per time scale; network m reads by encoder m modulo their number.
        networks_: the trained networks.
        results_: one `TrainResult` per network.
        seed_: the seed that everything random followed from.
    """

    _kind: ClassVar[str] = "CfCForecaster"
    _purpose: ClassVar[str] = "forecasts irregular series at any later time"
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
        learning_rate: float = 2e-3,
        weight_decay: float = 1e-2,
        validation_fraction: float = 0.0,
        patience: int = 0,
        n_estimators: int = 1,
        horizon: float | None = None,
        targets: Sequence[str] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            network=network, hidden_size=hidden_size, backbone_units=backbone_units, num_layers=num_layers,
            read_out_units=read_out_units, dropout=dropout, channel_dropout=channel_dropout, bin_width=bin_width,
            epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, weight_decay=weight_decay,
            validation_fraction=validation_fraction, patience=patience, n_estimators=n_estimators,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.horizon = horizon
        self.targets = targets

    def _check_settings(self) -> None:
        super()._check_settings()
        if reads_whole_series(self.network):
            raise ValueError(
                f"`network` must take one step after another to forecast, such as 'cfc'; {self.network!r} reads whole "
                "series, and has no state that could be carried on."
            )
        if isinstance(self.bin_width, str):
            raise ValueError(f"`bin_width` must be a width or None, one for all networks; got {self.bin_width!r}")
        if self.horizon is not None and not (np.isfinite(self.horizon) and self.horizon > 0):
            raise ValueError(f"`horizon` must be finite and over 0, or None; got {self.horizon!r}")

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        validation: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> CfCForecaster:
        """Train on series X; one long series is enough.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: ignored; the series are their own targets.
            validation: series to choose the best epoch by, in place of `validation_fraction`.
            folder: where to keep checkpoints and the log of the run.
            resume: resume the run in `folder`.

        Raises:
            ValueError: no series with two samples, no channel that is a number, or targets that are none.

        """
        data = as_series(self, X, reset=True)
        if not (data.lengths >= 2).any():
            raise ValueError("`X` must have series of at least two samples: there is nothing to forecast")
        held = None if validation is None else as_series(self, validation, reset=False)
        self._fit_networks(data, held, {"folder": folder, "resume": resume})
        seen, tried_on, start = held_out(data, self.seed_)
        probe = cast(CfCForecaster, clone(self)).set_params(
            n_estimators=1, horizon=self.horizon_, random_state=derive_seed(self.seed_, 11) % 2**31
        )
        probe._fit_networks(seen, None, {})
        part = probe._part(windows(tried_on) if start == 0.0 else tried_on)
        network, reach = cast(ForecastNetwork, probe.networks_[0]), self.horizon_ / probe.encoder_.time_scale_
        parts, truth, s = tried(network, part.prepared, part.target, probe._scene, reach, start)
        ratio = probe._scene.standard.scale / self._scene.standard.scale
        blend = fit_blend(parts, truth, s, len(tried_on) if start == 0.0 else 50 * len(tried_on))
        steps = blend.knots * (probe.encoder_.time_scale_ / self.encoder_.time_scale_)
        self.blend_ = Blend(steps, blend.weights, blend.errors * ratio[:, None, None])
        return self

    def _fit_networks(self, data: SeriesSet, held: SeriesSet | None, run: Mapping[str, Any]) -> None:
        """Fit everything but the mixture."""
        self._carried = None
        rows, back = self._hold_back(len(data), (data.lengths >= 2).astype(np.int64), own=held is not None)
        if len(back):
            data, held = data[rows], data[back]
        self._fit_encoders(data)
        self._find_channels()
        self.horizon_ = float(usual_horizon(windows(data)) if self.horizon is None else self.horizon)
        steps, scale = self.encoder_.steps(data), self.encoder_.time_scale_
        self._scene = Scene(Standard.of(steps.values[:, self._places]), find_seasons(steps, self._places, scale), scale)
        part = self._part(windows(data))
        judged = None if held is None else self._part(windows(held))
        self._fit_members(lambda _: (part, judged), self.read_out_units, self._loss_of, None, run)

    @property
    def period_(self) -> float | None:
        """The period of the seasonal naive forecast."""
        return None if self._carried is not None else self._scene.seasons.period

    @property
    def has_intervals(self) -> bool:
        """Whether there are prediction intervals; a folder of an earlier version has none."""
        return self._carried is None

    def _find_channels(self) -> None:
        names = self.encoder_.channels_
        numeric = tuple(name for name in names if name not in self.encoder_.categories_)
        if not numeric:
            raise ValueError("`X` must have a channel that is a number; all are categorical")
        for name in self.targets or ():
            if name not in numeric:
                raise unknown_choice("targets", name, numeric)
        self.channels_ = numeric if not self.targets else tuple(name for name in numeric if name in set(self.targets))
        self._places = [names.index(name) for name in self.channels_]

    def _part(self, data: SeriesSet) -> Part:
        steps = self.encoder_.steps(data)
        lesson = lesson_of(steps, self._places, self._scene, self._starts(data), self.horizon_)
        return Part(Prepared.of(self.encoder_, data, every_step=True), lesson)

    def _starts(self, data: SeriesSet) -> Values:
        return self._scene.seasons.starts(data.origins, len(data), self.encoder_.time_unit_)

    def _make_network(self, outputs: int, encoder: SeriesEncoder, pieces: PiecewiseLinear) -> SeriesNetwork:
        if self._carried is not None:
            return super()._make_network(outputs, encoder, pieces)
        return ForecastNetwork(
            self._make_layer(encoder), copy.deepcopy(pieces), outputs, self.read_out_units, self.dropout,
            self.channel_dropout, encoder.layout_.channel_of, channels=len(self.channels_),
            phases=self._scene.seasons.size, units=self.read_out_units,
        )  # fmt: skip

    def _loss_of(self, network: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
        """Cut each series at many steps, ask for later ones, and compare; at random in training, at fixed ones else."""
        assert isinstance(network, ForecastNetwork)
        draw = Draw.of(sample, _CUTS, _QUESTIONS, self.horizon_ / self._scene.time_scale, network.training)
        anchors, asked, truth, counts = answers_of(draw, sample, target, self._scene)
        context = network.contexts(*sample[:5], draw.cut).flatten(0, 1)
        return squared_error(network.decode(context, anchors, asked), truth.clamp(-_FARTHEST, _FARTHEST), counts)

    def predict(self, X: Any, times: Any = None, *, horizons: Any = None, intervals: float | None = None) -> Any:
        """Return forecasts of the targets.

        Args:
            X: the series up to now.
            times: (Q,) for all series, (S, Q), or a list of S arrays (Q_i,): numbers on the series' clock, or time
                stamps where the series came with some. None of them before the series' last sample.
            horizons: instead, (Q,) times after each series' last sample. With neither, one median interval.
            intervals: the share of values that prediction intervals are to hold, in (0, 1), such as 0.9.

        Returns:
            (S, Q, C), or a list of (Q_i, C) for a list; with `intervals` a `Forecast` of three such.

        """
        check_level(intervals)
        series = self.encode(X)
        gaps, sizes = gaps_to(series.data, self.encoder_, times, horizons)
        if self._carried is not None:
            self._refuse_first_form(intervals)
            prepared = series.prepared(every_step=True)
            return split_rows(finite(self._carried.predict(self.networks_, prepared, gaps)), sizes)
        return self._answers(series, gaps, sizes).mixture(intervals)

    def parts(self, X: Any, times: Any = None, *, horizons: Any = None) -> dict[str, tuple[Any, Any]]:
        """Return what each part of the mixture says, and its weight: which part said what.

        Args:
            X: as in `predict`, as are the other arguments.
            times: likewise.
            horizons: likewise.

        Returns:
            by part the forecasts and their weights, each shaped as the forecasts of `predict`, which are the sum of
            their products, apart from a bound at 0 for channels that are never negative.

        """
        series = self.encode(X)
        self._refuse_first_form(0.0)
        gaps, sizes = gaps_to(series.data, self.encoder_, times, horizons)
        return self._answers(series, gaps, sizes).parts()

    def _refuse_first_form(self, asked: float | None) -> None:
        if self._carried is not None and asked is not None:
            raise ValueError("the model was saved by an earlier version and has no mixture or intervals; fit it again")

    def _answers(self, series: EncodedSeries, gaps: Values, sizes: list[int] | None) -> Answers:
        steps = self.encoder_.steps(series.data)
        past, starts = Observations.of(steps, self._places).at_ends(steps), self._starts(series.data)
        now = last_times(steps)
        anchors, asked = self._scene.anchors(past, now, starts), self._scene.questions(past, now, gaps, starts)
        said = said_of_series(self.networks_, series.prepared(), anchors, asked)
        return Answers(said, anchors, asked, self.blend_, self._scene.standard, sizes)

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> None:
        """Take one sample of the live series `id`; `forecast` then starts from it. Arguments as in the classifier."""
        self._update(id, t, values, static)

    def _memory(self) -> Recent | None:
        if self._carried is not None:
            return None
        reach = max(TREND * self.encoder_.time_scale_, self.period_ or 0.0)
        return Recent.start(tuple(self._places), reach)

    def forecast(self, id: Any, horizons: Sequence[float], *, intervals: float | None = None) -> Any:
        """Return forecasts of the live series `id`.

        Args:
            id: of the series.
            horizons: (Q,) times after its newest sample (of bins: its bin).
            intervals: as in `predict`.

        Returns:
            (Q, C); with `intervals` a `Forecast` of three such.

        """
        check_is_fitted(self, "networks_")
        check_level(intervals)
        series = self._live[id]
        gaps = np.asarray(horizons, dtype=np.float64) / self.encoder_.time_scale_
        if self._carried is not None:
            self._refuse_first_form(intervals)
            return finite(self._carried.live(series, torch.from_numpy(gaps).float()))
        state = series.state
        assert state.outputs is not None
        assert isinstance(state.memory, Recent)
        past, now = state.memory.past(), np.array([state.memory.step])
        starts = self._scene.seasons.starts(state.clock.origins, 1, self.encoder_.time_unit_)
        anchors, asked = self._scene.anchors(past, now, starts), self._scene.questions(past, now, gaps[None], starts)
        said = said_of_contexts(self.networks_, state.outputs.unsqueeze(1), anchors, asked)
        answer = Answers(said, anchors, asked, self.blend_, self._scene.standard).mixture(intervals)
        return answer[0] if intervals is None else Forecast(*(each[0] for each in answer))

    def compare(self, X: Any, share: float = SHARE) -> dict[str, Skill]:
        """Cut each series after a share of its samples, forecast the rest, and compare with naive forecasts.

        A report shows the same figures; see `liquidtime.estimators.faces.forecast_test`.

        Args:
            X: the series, whole.
            share: share of the samples that the forecast starts from, in (0, 1).

        Returns:
            errors under "model", "last_value", "straight_line", "mean_so_far" and, where the series show a period,
            "seasonal_naive": means over the series, in standard deviations of each channel.

        """
        check_is_fitted(self, "networks_")
        return forecast_test(self, as_series(self, X, reset=False), share).skills()

    def score(self, X: Any, y: Any = None) -> float:
        """Return 1 - (mean squared error / that of the last value) on the last quarter of each series' samples."""
        skills = self.compare(X)
        return 1.0 - skills["model"].mse / skills["last_value"].mse if skills["last_value"].mse > 0 else 0.0

    def _standardised(self, values: npt.NDArray[Any]) -> Values:
        """Return values (N, C) of the targets in standard deviations, as errors are measured."""
        return self._scene.standard.to(values) if self._carried is None else self._carried.to(values)

    def _facts(self) -> dict[str, Sequence[Any]]:
        return {"forecasts": self.channels_}

    def _learned(self) -> dict[str, Any]:
        if self._carried is not None:
            return {"channels": list(self.channels_)}
        return stored_learned(self.channels_, self.horizon_, self._scene, self.blend_)

    def _relearn(self, learned: Mapping[str, Any]) -> int:
        if "values" not in self.encoder_.blocks or {"mask", "since"} - set(self.encoder_.blocks):
            raise ValueError("`blocks` of a forecaster must be values, mask and since")
        self._find_channels()
        if list(self.channels_) != learned["channels"]:
            raise ValueError("`channels` must be those of the encoder that are numbers, or the targets")
        if "form" not in learned:
            self._carried = CarriedForecast(self.encoder_, self._places)
            return len(self.channels_)
        self.horizon_, self._scene, self.blend_ = read_learned(learned, self.encoder_.time_scale_)
        return self.read_out_units
