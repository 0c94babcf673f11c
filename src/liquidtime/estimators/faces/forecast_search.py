"""Choose the epochs of a forecaster by trials on held-out folds, starting with the shortest."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, cast

from sklearn.base import clone

from liquidtime.distributed import in_processes
from liquidtime.estimators.forecast import Fold, ForecastNetwork
from liquidtime.estimators.forecast.calibration import Judged, judge, windows
from liquidtime.estimators.network.budget import SEARCH, Choice, Trial, batch_size_of, quick_epochs, weighed
from liquidtime.training import TrainingDiverged
from liquidtime.training.seeds import derive_seed

if TYPE_CHECKING:
    from liquidtime.estimators.faces.forecaster import CfCForecaster

_LONGER = (1, 4, 10)
"""Multiples of the epochs of the quick budget to try, one after the other."""
_MOST_EPOCHS, _MOST_SAMPLES = 100, 1_500_000
"""Epochs, and weighed samples that all of them may read, of trials after the first."""
_SHARED = (
    "encoders_", "encoder_", "n_series_", "channels_", "horizon_", "period_", "_places", "_known", "_scene", "_usual",
)  # fmt: skip


def search(model: CfCForecaster, folds: Sequence[Fold]) -> tuple[list[Trial], list[Judged]]:
    """Return the budgets that were tried, and what networks of the best said of what each fold holds out.

    Args:
        model: prepared; its settings say what there is to choose.
        folds: what is learned from, and what judges; the last is the largest to learn from.
    """
    seen = windows(folds[-1].seen)
    quick = model.epochs or quick_epochs(len(seen), model.batch_size or batch_size_of(len(seen)))
    samples = weighed(len(seen.times), model.encoder_.input_size_)
    rate = model._learning_rate if model.learning_rate is None else model.learning_rate
    trials: list[Trial] = []
    best: list[Judged] = []
    for times in _LONGER if model.budget == SEARCH and model.epochs is None else _LONGER[:1]:
        choice = Choice(min(times * quick, max(quick, _MOST_EPOCHS)), rate)
        if times > 1 and (choice.epochs == trials[-1].choice.epochs or choice.epochs * samples > _MOST_SAMPLES):
            break
        try:
            judged = in_processes(
                functools.partial(_probed, model, folds, choice),
                range(len(folds)),
                model.n_jobs,
                names=[f"held-out fold {number + 1} of {len(folds)}" for number in range(len(folds))],
                show=bool(model.verbose),
            )
        except TrainingDiverged:
            if not best:
                raise
            break
        trials.append(Trial(choice, fmean(one.network_loss for one in judged)))
        if best and not trials[-1].loss < trials[-2].loss:
            break
        best = judged
    return trials, best


def _probed(model: CfCForecaster, folds: Sequence[Fold], choice: Choice, position: int, again: bool) -> Judged:
    return probed(model, folds[position], choice, position)


def probed(model: CfCForecaster, fold: Fold, choice: Choice, number: int) -> Judged:
    """Return the forecasts of a network for what a fold holds out, after training on the rest.

    Args:
        model: prepared.
        fold: what is learned from, and what judges.
        choice: how to train.
        number: of the seed.
    """
    probe = cast("CfCForecaster", clone(model)).set_params(n_estimators=1, verbose=False)
    for name in _SHARED:
        setattr(probe, name, getattr(model, name))
    probe.seed_ = derive_seed(model.seed_, 11, number) % 2**31
    probe._tried = [Trial(choice, 0.0)]
    probe._train(fold.seen, None, {})
    part = probe._part(windows(fold.tried) if fold.start == 0.0 else fold.tried)
    network, reach = cast(ForecastNetwork, probe.networks_[0]), model.horizon_ / model.encoder_.time_scale_
    return judge(network, part.prepared, part.target, model._scene, reach, fold.start)
