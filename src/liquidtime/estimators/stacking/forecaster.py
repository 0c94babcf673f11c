from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from liquidtime._checks import check_size
from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.forecast_search import search
from liquidtime.estimators.faces.forecast_series import ForecastSeries
from liquidtime.estimators.faces.forecaster import CfCForecaster
from liquidtime.estimators.faces.forecasts import Forecasts
from liquidtime.estimators.faces.series_model import SeriesModel
from liquidtime.estimators.forecast import PARTS, Fold, Seen, Standard, fit_blend, forecast_folds
from liquidtime.estimators.forecast.answers import Answers
from liquidtime.estimators.forecast.calibration import Judged, windows
from liquidtime.estimators.forecast.lags import LagFeatures
from liquidtime.estimators.network.inputs import as_series
from liquidtime.estimators.stacking.fitting import NETWORKS, StackPart
from liquidtime.estimators.stacking.lag_fitting import Pairs, Questions, fit_lags, refit_lags
from liquidtime.estimators.stacking.lag_models import LAG_PARTS
from liquidtime.training.seeds import derive_seed

Values = npt.NDArray[np.float64]
NAMES = (*PARTS, *LAG_PARTS)
"""What a stacked forecast is mixed from."""
_MANY = 1000
"""Series from which on two folds judge instead of three."""


class StackedForecaster(Forecasts, SeriesModel):
    """Forecast channels of irregular series with several models that make different errors.

        model = StackedForecaster().fit(data)
        model.predict(new, times)                  (S, Q, C), at any later times
        model.predict(new, horizons=[6, 24], intervals=0.9)      value, low, high
        model.parts(new, horizons=[6])             the forecast of each part, and its weight

    The parts are CfC networks, gradient boosting and a linear model on features of the past (last values, slopes,
    running statistics over several spans, the phase of the season, the gap to the forecast), the last value, the
    straight line, the mean so far and the seasonal naive forecast. Each part forecasts series that it was not fitted
    to; if series are few or cover the same period, it forecasts what comes after the data it was fitted to. The
    weights, which are at least 0, sum to 1, differ by channel and change smoothly with the gap, minimise the squared
    error of these forecasts; prediction intervals contain the chosen share of these errors at every gap. If a naive
    forecast is better, it gets the weight.

    Args:
        n_networks: number of CfC networks.
        n_splits: number of folds in which parts are scored; None: 3, or 2 for 1,000 series or more.
        horizon: longest horizon to forecast, in the time unit of the set; None for the length of the last quarter of
            the samples in most series.
        targets: channels to forecast; None for all numeric channels. The others are inputs.
        known: numeric channels whose future values are known; see `CfCForecaster`.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core;
            see `CfCClassifier`.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda", "mps" or "auto";
            see `CfCClassifier`.
        verbose: whether to show a progress line while networks are trained.

    Attributes:
        channels_: names of the C channels that are forecast.
        horizon_: longest horizon in training.
        period_: period of the seasonal naive forecast; None if the series show none.
        parts_: name, mean weight and out-of-fold figures of each part.
        figures_: out-of-fold figures of the mixture.
        blend_: weights and error quantiles of the mixture by channel and gap.
        cfc_: the networks, a fitted `CfCForecaster` with its own mixture.
        seed_: the random seed that was used.
    """

    stacked: ClassVar[bool] = True
    cfc_: CfCForecaster

    def __init__(
        self,
        n_networks: int = 2,
        n_splits: int | None = None,
        horizon: float | None = None,
        targets: Sequence[str] | None = None,
        known: Sequence[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.n_networks = n_networks
        self.n_splits = n_splits
        self.horizon = horizon
        self.targets = targets
        self.known = known
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        order: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> StackedForecaster:
        """Fit to series X; one long series is enough.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: ignored; the series are their own targets.
            groups: (S,) series of one group are never on both sides of a fold; None for none.
            order: (S,) when each series was taken, where parts should be judged by later series than they were fitted
                to; None for none: series on one clock are kept in their order by themselves, and series that move
                together are held out together.
            folder: folder for checkpoints and the log of the networks.
            resume: resume the run in `folder`.
        """
        check_size("n_networks", self.n_networks)
        if self.n_splits is not None:
            check_size("n_splits", self.n_splits, 2)
        data = as_series(self, X, reset=True)
        cfc = self._networks()
        cfc._hold_back(len(data), None, None, None, own=True)  # checks settings and draws the seed
        cfc._prepare(data)
        self.seed_ = cfc.seed_
        count = self.n_splits or (3 if len(data) < _MANY else 2)
        folds = forecast_folds(data, count, self.seed_, groups, order)
        cfc._tried, judged = search(cfc, folds)
        cfc._train(data, None, {"folder": folder, "resume": resume})
        features, pairs, seed = self._taught(cfc, data)
        questions = [_asked(cfc, features, fold, one) for fold, one in zip(folds, judged, strict=True)]
        self._lags, said = fit_lags(pairs, questions, seed)
        self._weigh(cfc, folds, judged, said)
        self._restore(cfc, features)
        return self

    def refit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        order: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> StackedForecaster:
        """Fit the parts again to other series, usually more of them, and keep their weights and all other choices.

        Args:
            X: series like those of `fit`.
            y: ignored.
            groups: ignored, as nothing is held out.
            order: likewise.
            folder: folder for checkpoints and the log of the networks.
            resume: resume the run in `folder`.
        """
        check_is_fitted(self, "cfc_")
        data = as_series(self, X, reset=True)
        cfc = self.cfc_.refit(data, folder=folder, resume=resume)
        features, pairs, seed = self._taught(cfc, data)
        self._lags = refit_lags(pairs, self._lags, seed)
        self._restore(cfc, features)
        return self

    def _networks(self) -> CfCForecaster:
        return CfCForecaster(
            n_estimators=self.n_networks, horizon=self.horizon, targets=self.targets, known=self.known,
            random_state=self.random_state, n_jobs=self.n_jobs, device=self.device, verbose=self.verbose,
        )  # fmt: skip

    def _taught(self, cfc: CfCForecaster, data: SeriesSet) -> tuple[LagFeatures, Pairs, int]:
        """Return what lag models read, what training series teach them, and their seed."""
        steps, seed = cfc.encoder_.steps(data), derive_seed(self.seed_, 17) % 2**31
        features = lag_features(cfc, Standard.of(steps.values[:, numeric_places(cfc)]))
        static = cfc.encoder_.encode_static(steps.static).astype(np.float64)
        return features, Pairs.drawn(features, steps, cfc._starts(data), static, cfc.horizon_, seed), seed

    def _weigh(
        self, cfc: CfCForecaster, folds: Sequence[Fold], judged: Sequence[Judged], forecasts: Sequence[Values]
    ) -> None:
        """Choose the mixture, and that of the networks alone, by what was said of what was held out."""
        C = len(cfc.channels_)
        parts = np.concatenate(
            [
                np.concatenate([one.parts, further], axis=-1).reshape(-1, C, len(NAMES))
                for one, further in zip(judged, forecasts, strict=True)
            ]
        )
        truth, since = (
            np.concatenate([getattr(one, name).reshape(-1, C) for one in judged]) for name in ("truth", "since")
        )
        series = sum(fold.units for fold in folds)
        parts = np.where(np.isnan(truth)[..., None], 0.0, parts)
        cfc.blend_ = fit_blend(parts[..., : len(PARTS)], truth, since, series)
        self.blend_ = fit_blend(parts, truth, since, series, NAMES)
        known = ~np.isnan(truth)
        shares = self.blend_.shares(since)[known].mean(axis=0) if known.any() else np.zeros(len(NAMES))
        self.parts_ = [
            StackPart(
                NETWORKS if name == PARTS[0] else name, float(share), _figures(parts[..., j][known], truth[known])
            )
            for j, (name, share) in enumerate(zip(NAMES, shares, strict=True))
        ]
        self.figures_ = _figures(self.blend_.mix(parts, since)[known], truth[known])

    def _restore(self, cfc: CfCForecaster, features: LagFeatures) -> None:
        """Take fitted networks and what features are computed of, and what they tell."""
        cfc._watch(features.places, features.reach)
        self.cfc_, self._features, self.n_series_ = cfc, features, cfc.n_series_
        self.encoder_, self.encoders_, self.networks_ = cfc.encoder_, cfc.encoders_, cfc.networks_
        self.channels_, self.horizon_, self.period_ = cfc.channels_, cfc.horizon_, cfc.period_
        self.results_, self.trials_ = cfc.results_, cfc.trials_

    def encode(self, X: Any) -> ForecastSeries:
        """Encode series for the networks, so that several methods can take the result instead of X.

        Args:
            X: series like those of `fit`, or the result of this method.
        """
        check_is_fitted(self, "cfc_")
        return self.cfc_.encode(X if isinstance(X, ForecastSeries) else as_series(self, X, reset=False))

    def _answers(self, series: ForecastSeries, gaps: Values, sizes: list[int] | None) -> Answers:
        seen = self.cfc_._seen(series)
        return self._mixed(*self.cfc_._said(series, seen, gaps), seen, gaps, sizes)

    def _answers_after(
        self, data: SeriesSet, series: npt.NDArray[np.int64], steps: npt.NDArray[np.int64], times: Values
    ) -> Answers:
        parts, since, seen, gaps = self.cfc_._said_after(data, series, steps, times)
        return self._mixed(parts, since, seen, gaps, None)

    def _live_answers(self, id: Any, gaps: Values, known: Mapping[str, Any] | None) -> Answers:
        check_is_fitted(self, "cfc_")
        seen = self.cfc_._seen_live(id, gaps.shape[1], known)
        return self._mixed(*self.cfc_._said_live(id, seen, gaps), seen, gaps, None)

    def _mixed(self, parts: Values, since: Values, context: Seen, gaps: Values, sizes: list[int] | None) -> Answers:
        scene = self.cfc_._scene
        known = scene.known.to(context.known_at(context.now[:, None] + gaps * scene.time_scale))
        told = np.minimum(gaps, self.cfc_._farthest)
        further = self._lags.predict(self._features.at_ends(context), told, known)
        return Answers(np.concatenate([parts, further], axis=-1), since, NAMES, self.blend_, scene.standard, sizes)

    def _standardised(self, values: npt.NDArray[Any]) -> Values:
        return self.cfc_._standardised(values)

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> None:
        """Take one sample of the live series `id`; `forecast` then starts from it. Arguments as in the classifier."""
        check_is_fitted(self, "cfc_")
        self.cfc_.update(id, t, values, static=static)

    def reset(self, id: Any = None) -> None:
        """Forget the live series `id`, or all live series if it is None."""
        check_is_fitted(self, "cfc_")
        self.cfc_.reset(id)

    def save(
        self, path: str | Path, *, metrics: Mapping[str, Any] | None = None, files: Mapping[str, bytes] | None = None
    ) -> None:
        """Save the model as a folder, which `liquidtime.load` reads; see `liquidtime.estimators.stacking.folder`.

        Args:
            path: path of the folder. If it holds a model, that model is kept as `<name>.previous`.
            metrics: figures to store with the model, ready for JSON.
            files: other files for the folder, by name, such as a report.
        """
        from liquidtime.estimators.stacking.forecast_folder import save

        check_is_fitted(self, "cfc_")
        save(self, path, metrics, files)

    def _facts(self) -> dict[str, Sequence[Any]]:
        """Return what a notebook shows besides what all kinds have: names by title."""
        parts = [f"{part.name} {part.weight:.2f}" for part in self.parts_ if part.weight > 0]
        return {"forecasts": self.channels_, "parts": parts}


def numeric_places(cfc: CfCForecaster) -> list[int]:
    """Return the positions of the channels that are numbers."""
    encoder = cfc.encoder_
    return [place for place, name in enumerate(encoder.channels_) if name not in encoder.categories_]


def lag_features(cfc: CfCForecaster, standard: Standard) -> LagFeatures:
    """Return what lag models of a forecaster read.

    Args:
        cfc: its networks.
        standard: of the channels that are numbers.
    """
    places = numeric_places(cfc)
    targets = tuple(places.index(place) for place in cfc._places)
    return LagFeatures(tuple(places), targets, standard.centre, standard.scale, tuple(cfc._known), cfc._scene)


def _asked(cfc: CfCForecaster, features: LagFeatures, fold: Fold, judged: Judged) -> Questions:
    """Return what networks were asked about a fold as lag models are."""
    data = windows(fold.tried) if fold.start == 0.0 else fold.tried
    steps = cfc.encoder_.steps(data)
    static = cfc.encoder_.encode_static(steps.static).astype(np.float64)
    cuts = features.at_steps(steps, judged.cut, cfc._starts(data), static)
    times = steps.times[judged.asked]
    owners = np.repeat(np.searchsorted(steps.offsets, judged.cut, side="right") - 1, times.shape[1])
    known = features.known_later(steps, owners, times.reshape(-1)).reshape(*times.shape, -1)
    latest = np.full(len(fold.data), -np.inf)
    some = fold.until > 0
    latest[some] = fold.data.times[fold.data.offsets[:-1][some] + fold.until[some] - 1]
    return Questions(cuts, times, judged.truth, known, latest)


def _figures(forecasts: Values, truth: Values) -> dict[str, float]:
    off = forecasts - truth
    return {"mse": float((off**2).mean()), "mae": float(np.abs(off).mean())} if len(off) else {}
