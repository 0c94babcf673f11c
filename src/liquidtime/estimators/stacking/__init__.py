"""Several models of one target, weighted by how well they predict series that they were not fitted to."""

from __future__ import annotations

from typing import Any

from liquidtime.estimators.stacking.classifier import StackedClassifier
from liquidtime.estimators.stacking.fitting import NETWORKS, StackPart
from liquidtime.estimators.stacking.forecaster import StackedForecaster
from liquidtime.estimators.stacking.regressor import StackedRegressor
from liquidtime.estimators.stacking.step_classifier import StackedStepClassifier

STACKED: dict[str, Any] = {
    kind.__name__: kind for kind in (StackedClassifier, StackedForecaster, StackedRegressor, StackedStepClassifier)
}
"""Every stacked estimator by the name that model folders store it under."""

__all__ = [
    "NETWORKS",
    "STACKED",
    "StackPart",
    "StackedClassifier",
    "StackedForecaster",
    "StackedRegressor",
    "StackedStepClassifier",
]
