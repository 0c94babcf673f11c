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
    """Return an estimator, that of a folder where a folder is named."""
    return load(model) if isinstance(model, str | Path) else model


def step_of(model: Any, part: str = ALL, *, memory: int | None = None, data: SeriesSet | None = None) -> Step:
    """Return a fitted estimator, or the model of a folder, as a step.

    Args:
        model: the estimator or the folder.
        part: "all", or "networks" for those of a stack.
        memory: of a forecaster: values of each channel that are remembered; None: as many as `data`, or series as dense
            as usual in training, need.
        data: series by which that is judged.

    Raises:
        ValueError: a model that cannot be taken one sample at a time by a state of fixed size; with the reason.
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
            "`model` fills gaps from both sides, but a stream has no samples after a gap; export a forecaster"
        )
    if isinstance(model, CfCForecaster):
        if model._carried is not None:
            raise ValueError(
                "this forecaster was saved by an earlier version, without a mixture; fit it again to export it"
            )
        capacity = capacity_for(model, data) if memory is None else check_size("memory", memory, 2)
        return ForecastStep(model, capacity).eval()
    if memory is not None:
        raise ValueError("`memory` is for forecasters, which remember past values; leave it out")
    return Step(model).eval()
