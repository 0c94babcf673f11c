"""The part of a model to export: all of it, or only the networks of a stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from liquidtime.baselines.features.temperature import Calibration
from liquidtime.data import SeriesSet
from liquidtime.errors import unknown_choice
from liquidtime.estimators import StackedForecaster
from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.estimators.stacking.fitting import NETWORKS, RUNNING_BOOSTING
from liquidtime.tasks import task_of
from liquidtime.training import METRICS

ALL, ALONE = PARTS = ("all", "networks")
"""Names of the parts of a model that can be exported."""


class StackRefused(ValueError):
    """A stack that cannot be exported as a whole.

    Args:
        reason: why not, and how good its networks are by themselves.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason} Pass part='networks' to export those.")
        self.reason = reason


def part_of_model(model: Any, part: str) -> Any:
    """Return the estimator to export.

    Args:
        model: fitted model.
        part: "all", or "networks" for those of a stack; other models consist only of networks.

    Raises:
        ValueError: unknown part.
        StackRefused: "all" for a stack with parts that read whole series; the message says why.

    """
    if part not in PARTS:
        raise unknown_choice("part", part, PARTS)
    if not is_stack(model) or not hasattr(model, "cfc_"):
        return model
    if part == ALONE or _networks_only(model):
        return model.cfc_
    raise StackRefused(_refusal(model))


def is_stack(model: Any) -> bool:
    """Return whether a model has parts other than networks."""
    return isinstance(model, StackedEstimator | StackedForecaster)


def change_in_words(model: Any, data: SeriesSet | None, target: Any) -> str:
    """Describe what a stack loses without its other parts.

    Args:
        model: the whole stack.
        data: series for the comparison; without them, the figures of training are reported.
        target: targets of these series, as in `fit`; a forecaster needs none.
    """
    if data is not None and isinstance(model, StackedForecaster):
        whole, alone = (one.compare(data)["model"] for one in (model, model.cfc_))
        figures = [f"{name} {getattr(whole, name):.4g} -> {getattr(alone, name):.4g}" for name in ("mse", "mae")]
        return f"networks and naive forecasts without the stack's other parts; on {len(data):,} series: " + ", ".join(
            figures
        )
    if data is not None and target is not None:
        task = task_of(model)
        figures = []
        compared = [task.compare(one, "model", None, (data, target)).figures["model"] for one in (model, model.cfc_)]
        for name, whole_figure in compared[0].items():
            label = METRICS[name].label if name in METRICS else name
            figures.append(f"{label} {whole_figure.value:.4f} -> {compared[1][name].value:.4f}")
        return f"networks alone, without the stack's other parts; on {len(data):,} series: " + ", ".join(figures)
    return f"networks alone, without the stack's other parts; {_out_of_fold(model)}"


def _networks_only(model: Any) -> bool:
    """Return whether the predictions of a stack are those of its networks."""
    return isinstance(model, StackedEstimator) and not model._feature_parts and model.calibration_ == Calibration()


def _refusal(model: Any) -> str:
    parts = [f"{each.name} {each.weight:.2f}" for each in model.parts_ if each.weight > 0]
    others = [each.name for each in model.parts_ if each.weight > 0 and each.name != NETWORKS]
    if isinstance(model, StackedForecaster):
        reason = "boosting and the linear model use features of many past values"
    elif not others:
        reason = "its probabilities are calibrated after the networks"
    elif others == [RUNNING_BOOSTING]:
        reason = "boosting uses a table of running features"
    else:
        reason = f"{' and '.join(others)} read{'s' if len(others) == 1 else ''} features of whole series"
    return (
        f"this model is a stack ({', '.join(parts)}): {reason}, which do not fit into a state of fixed size. Its "
        f"networks can be exported alone; {_out_of_fold(model)}."
    )


def _out_of_fold(model: Any) -> str:
    """Describe how good the networks of a stack are relative to the stack, on series to which neither was fitted."""
    own: Mapping[str, float] = next((each.figures for each in model.parts_ if each.name == NETWORKS), {})
    pairs = [
        f"{METRICS[name].label if name in METRICS else name} {model.figures_[name]:.4g} -> {own[name]:.4g}"
        for name in model.figures_
        if name in own and np.isfinite(own[name])
    ]
    if not pairs and model.figures_:
        return "training dropped the networks, which do not improve the stack: test them on your own data before use"
    if not pairs:
        return "training held out no series for a comparison"
    return "on series held out in training, stack -> networks: " + ", ".join(pairs)
