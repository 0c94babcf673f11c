"""Any fitted model as a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from liquidtime._checks import check_size
from liquidtime.data import SeriesSet
from liquidtime.estimators import CfCClassifier, CfCForecaster, CfCImputer, CfCMultiLabelClassifier, CfCRegressor, load
from liquidtime.estimators.network.summary import REFUSAL
from liquidtime.export.forecast_step import ForecastStep, capacity_for
from liquidtime.export.parts import ALL, is_stack, part_of_model
from liquidtime.export.step import Step


def loaded(model: Any) -> Any:
    """Return an estimator, which is loaded if `model` is a folder."""
    return load(model) if isinstance(model, str | Path) else model


def step_of(model: Any, part: str = ALL, *, memory: int | None = None, data: SeriesSet | None = None) -> Step:
    """Return a fitted estimator, or the model in a folder, as a step.

    Args:
        model: the estimator or the folder.
        part: "all", or "networks" for only the networks of a stack.
        memory: only for a forecaster: number of stored values per channel; None for as many as needed by `data`, or by
            series as dense as usual in training.
        data: series from which this number is determined.

    Raises:
        ValueError: the model cannot process single samples with a state of fixed size; the message says why.
        TypeError: neither an estimator nor a folder.

    """
    model = loaded(model)
    if is_stack(model):
        check_is_fitted(model, "cfc_")
    model = part_of_model(model, part)
    kinds = (CfCClassifier, CfCForecaster, CfCMultiLabelClassifier, CfCRegressor)
    if not isinstance(model, kinds):
        raise TypeError(f"`model` must be a fitted estimator or a model folder; got {type(model).__name__}")
    check_is_fitted(model, "networks_")
    if model.summary_ is not None:
        raise ValueError(REFUSAL)
    if isinstance(model, CfCImputer):
        raise ValueError(
            "`model` fills gaps from both sides, but a stream has no samples after a gap; export a forecaster instead"
        )
    if isinstance(model, CfCForecaster):
        if model._carried is not None:
            raise ValueError(
                "this forecaster was saved by an earlier version, without a mixture; fit it again to export it"
            )
        capacity = capacity_for(model, data) if memory is None else check_size("memory", memory, 2)
        return ForecastStep(model, capacity).eval()
    if memory is not None:
        raise ValueError("`memory` applies only to forecasters, which store past values; leave it out")
    return Step(model).eval()
