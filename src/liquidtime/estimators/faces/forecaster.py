from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from liquidtime.data import SeriesEncoder, SeriesSet
from liquidtime.data.encoding.future_times import gaps_to, split_rows
from liquidtime.estimators.faces.base import SeriesEstimator
from liquidtime.estimators.faces.finite import finite
from liquidtime.estimators.faces.forecast_test import SHARE, Skill, forecast_test
from liquidtime.estimators.network.inputs import Prepared, SeriesBatch, SeriesBatches, as_series
from liquidtime.estimators.network.members import PREDICT_BATCH, Part
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.estimators.network.piecewise import PiecewiseLinear
from liquidtime.networks import Network, reads_whole_series
from liquidtime.training import Loss, squared_error

Values = npt.NDArray[np.float64]
_QUERIES = 8
"""Later samples that each series is asked for in a training step."""


class CfCForecaster(SeriesEstimator):
    """Forecast every channel of irregular series at any later times.

        h = network(samples up to now);   forecast(t) = last value + W·[network carried from h over t - now]

    The state is carried over the gap by one step of the cell in which nothing is observed; each time is carried to
    from the last sample on its own, so forecasts do not depend on which other times are asked for. Training cuts each
    series at a new random sample in every epoch and asks for later ones. The untrained network forecasts the last
    value.

        model = CfCForecaster(random_state=0).fit(data)
        model.predict(new, times)            (S, Q, C) at times (Q,) or (S, Q) of the series' own clock
        model.predict(new, horizons=[1, 6])  this long after each series' last sample
        model.compare(new)                   the errors, compared with the last value and the mean so far

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
            each series, in [0, 1).
        bin_width: None reads every sample as it is; a number gathers samples in bins of this width, in the set's time
            unit.
        epochs: passes over the training series; None: 6, or as many as it takes for 200 optimiser steps, at most 100.
        batch_size: series per batch; None: about a 25th of the series, a power of 2 from 8 to 128.
        learning_rate: highest learning rate of the one-cycle schedule.
        weight_decay: weight decay of the AdamW optimiser.
        validation_fraction: share of the training series held back to choose the best epoch, other series for each
            network of an ensemble. 0 trains on all series and takes the last epoch.
        patience: stop after this many epochs without a better validation loss; 0 never stops early.
        n_estimators: networks in the ensemble. Each is trained from its own seed; predictions are averaged.
        horizon: how far ahead training asks, in the set's time unit; None for all later samples.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        verbose: whether to show a progress line while training.

    Attributes:
        channels_: C names of what is forecast.
        encoder_: the fitted `SeriesEncoder` of the first network.
        encoders_: one encoder per time scale; network m reads by encoder m modulo their number.
        networks_: the trained networks.
        results_: one `TrainResult` per network.
        seed_: the seed that everything random followed from.
    """

    _kind: ClassVar[str] = "CfCForecaster"
    _purpose: ClassVar[str] = "forecasts irregular series at any later time"

    def __init__(
        self,
        network: Network = "cfc",
        hidden_size: int = 32,
        backbone_units: int = 64,
        num_layers: int = 1,
        read_out_units: int = 64,
        dropout: float = 0.1,
        channel_dropout: float = 0.0,
        bin_width: float | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float = 2e-3,
        weight_decay: float = 1e-2,
        validation_fraction: float = 0.0,
        patience: int = 0,
        n_estimators: int = 1,
        horizon: float | None = None,
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
        """Train on series X.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: ignored; the series are their own targets.
            validation: series to choose the best epoch by, in place of `validation_fraction`.
            folder: where to keep checkpoints and the log of the run.
            resume: resume the run in `folder`.

        Raises:
            ValueError: no series with two samples, or no channel that is a number.

        """
        data = as_series(self, X, reset=True)
        if not (data.lengths >= 2).any():
            raise ValueError("`X` must have series of at least two samples: there is nothing to forecast")
        self._fit_encoders(data)
        self._find_channels()
        held = None if validation is None else self._part(as_series(self, validation, reset=False))
        run = {"folder": folder, "resume": resume}
        self._fit_members(lambda _: (self._part(data), held), len(self.channels_), self._loss_of, None, run)
        return self

    def _find_channels(self) -> None:
        names = self.encoder_.channels_
        self.channels_ = tuple(name for name in names if name not in self.encoder_.categories_)
        if not self.channels_:
            raise ValueError("`X` must have a channel that is a number; all are categorical")
        layout = self.encoder_.layout_
        self._value = torch.tensor([layout.value[name].start for name in self.channels_])
        self._places = [names.index(name) for name in self.channels_]

    def _part(self, data: SeriesSet) -> Part:
        steps = self.encoder_.steps(data)
        scaled = [self.encoder_.scaling_.column(place, steps.values[:, place]) for place in self._places]
        return Part(Prepared.of(self.encoder_, data, every_step=True), torch.from_numpy(np.stack(scaled, axis=1)))

    def _make_network(self, outputs: int, encoder: SeriesEncoder, pieces: PiecewiseLinear) -> SeriesNetwork:
        network = super()._make_network(outputs, encoder, pieces)
        nn.init.zeros_(network.read_out.weight)  # the forecast starts as the last value
        nn.init.zeros_(network.read_out.bias)
        return network

    def _loss_of(self, network: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
        """Cut each series, ask for later samples, and compare; at random places in training, at fixed ones else."""
        assert isinstance(network, SeriesNetwork)
        B, Q = len(sample.rows), _QUERIES
        draw, draws = (torch.rand(B), torch.rand(B, Q)) if network.training else _fixed(B, Q)
        n = sample.lengths
        cut = torch.where(n >= 2, 1 + (draw * (n - 1)).long(), n)  # samples before the cut, 1…n - 1
        clock = sample.dt.double().cumsum(dim=1)  # (B, T)
        rows, now = torch.arange(B), (cut - 1).clamp(min=0)
        end = n
        if self.horizon is not None:
            reach = clock[rows, now] + self.horizon / self.encoder_.time_scale_
            near = (clock <= reach.unsqueeze(1)) & (torch.arange(clock.shape[1]) < n.unsqueeze(1))
            end = near.sum(dim=1)
        asked = cut.unsqueeze(1) + (draws * (end - cut).unsqueeze(1)).long()  # (B, Q), in cut…end - 1
        some = (end > cut).unsqueeze(1).expand(B, Q)
        asked = torch.where(some, asked, now.unsqueeze(1))
        gap = (clock.gather(1, asked) - clock[rows, now].unsqueeze(1)).float()
        state = network.states(sample.x, sample.dt, cut)
        out = self._carried(network, state, sample.x[rows, now], gap, sample.static, sample.history[rows, now])
        wanted = target[sample.first.unsqueeze(1) + asked]  # (B, Q, C)
        return squared_error(out, wanted, torch.isfinite(wanted) & some.unsqueeze(-1))

    def _carried(
        self, network: SeriesNetwork, state: Any, x: Tensor, gap: Tensor, static: Tensor, history: Tensor
    ) -> Tensor:
        """Return (B, Q, C) scaled forecasts over gaps (B, Q) from the states after inputs x (B, D)."""
        B, Q = gap.shape
        later = self._input_after(x.repeat_interleave(Q, dim=0), gap.reshape(-1))
        out, _ = network.step(
            later,
            state.repeat(Q),
            gap.reshape(-1),
            static.repeat_interleave(Q, dim=0),
            history.repeat_interleave(Q, dim=0),
        )
        forecast: Tensor = (out + later[:, self._value]).reshape(B, Q, -1)
        return forecast

    def _input_after(self, x: Tensor, gap: Tensor) -> Tensor:
        """Return the inputs (R, D) of a sample with nothing observed, a scaled gap (R,) after those given."""
        layout, C = self.encoder_.layout_, len(self.encoder_.channels_)
        later = x.clone()
        later[:, layout.mask : layout.mask + C] = 0.0
        since = slice(layout.since, layout.since + C)
        later[:, since] = torch.log1p(torch.expm1(x[:, since]) + gap.unsqueeze(1))
        return later

    def predict(self, X: Any, times: Any = None, *, horizons: Any = None) -> Any:
        """Return forecasts of all channels.

        Args:
            X: the series up to now.
            times: (Q,) for all series, (S, Q), or a list of S arrays (Q_i,): numbers on the series' clock, or time
                stamps where the series came with some. None of them before the series' last sample.
            horizons: instead, (Q,) times after each series' last sample. With neither, one median interval.

        Returns:
            (S, Q, C), or a list of (Q_i, C) for a list.

        """
        series = self.encode(X)
        gaps, sizes = gaps_to(series.data, self.encoder_, times, horizons)
        prepared = series.prepared(every_step=True)
        out = np.empty((*gaps.shape, len(self.channels_)))
        with torch.inference_mode():
            for sample in SeriesBatches(prepared, PREDICT_BATCH):
                rows, last = torch.arange(len(sample.rows)), (sample.lengths - 1).clamp(min=0)
                gap = torch.from_numpy(gaps[sample.rows.numpy()]).float()
                each = [
                    self._carried(
                        network,
                        network.states(sample.x, sample.dt, sample.lengths),
                        sample.x[rows, last],
                        gap,
                        sample.static,
                        sample.history[rows, last],
                    )
                    for network in self.networks_
                ]
                out[sample.rows.numpy()] = torch.stack(each).mean(dim=0).numpy()
        return split_rows(finite(self._unscaled(out)), sizes)

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> None:
        """Take one sample of the live series `id`; `forecast` then goes on from it. Arguments as in the classifier."""
        self._update(id, t, values, static)

    def forecast(self, id: Any, horizons: Sequence[float]) -> Values:
        """Return (Q, C) forecasts of the live series `id`, so long after its newest sample (of bins: its bin)."""
        check_is_fitted(self, "networks_")
        gap = torch.tensor(np.asarray(horizons, dtype=np.float64) / self.encoder_.time_scale_).float()
        outs, x = self._live[id].carry(self._input_after, gap)
        return finite(self._unscaled((outs.mean(dim=0) + x[:, self._value]).double().numpy()))

    def compare(self, X: Any, share: float = SHARE) -> dict[str, Skill]:
        """Cut each series after a share of its samples, forecast the rest, and compare with two naive forecasts.

        A report shows the same figures; see `liquidtime.estimators.faces.forecast_test`.

        Args:
            X: the series, whole.
            share: share of the samples that the forecast starts from, in (0, 1).

        Returns:
            errors under "model", "last_value" and "mean_so_far", means over the series, in standard deviations of
            each channel, or of its logarithm where it is heavy-tailed.

        """
        check_is_fitted(self, "networks_")
        return forecast_test(self, as_series(self, X, reset=False), share).skills()

    def score(self, X: Any, y: Any = None) -> float:
        """Return 1 - (mean squared error / that of the last value) on the last quarter of each series' samples."""
        skills = self.compare(X)
        return 1.0 - skills["model"].mse / skills["last_value"].mse if skills["last_value"].mse > 0 else 0.0

    def _unscaled(self, scaled: Values) -> Values:
        columns = [self.encoder_.scaling_.invert(place, scaled[..., k]) for k, place in enumerate(self._places)]
        return np.stack(columns, axis=-1)

    def _facts(self) -> dict[str, Sequence[Any]]:
        return {"forecasts": self.channels_}

    def _learned(self) -> dict[str, Any]:
        return {"channels": list(self.channels_)}

    def _relearn(self, learned: Mapping[str, Any]) -> int:
        if "values" not in self.encoder_.blocks or {"mask", "since"} - set(self.encoder_.blocks):
            raise ValueError("`blocks` of a forecaster must be values, mask and since")
        self._find_channels()
        if list(self.channels_) != learned["channels"]:
            raise ValueError("`channels` must be those of the encoder that are numbers")
        return len(self.channels_)


def _fixed(B: int, Q: int) -> tuple[Tensor, Tensor]:
    """Return the fixed draws of validation: the cut at half, the queries evenly over what is left."""
    return torch.full((B,), 0.5), ((torch.arange(Q) + 0.5) / Q).expand(B, Q)
