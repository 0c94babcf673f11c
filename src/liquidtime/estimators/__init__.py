"""Estimators with the interface of scikit-learn: fit, predict, score, save."""

from liquidtime.estimators.faces import (
    CfCClassifier,
    CfCForecaster,
    CfCImputer,
    CfCMultiLabelClassifier,
    CfCRegressor,
)
from liquidtime.estimators.files.model_config import ModelFolderError
from liquidtime.estimators.files.model_folder import load
from liquidtime.estimators.stacking import (
    StackedClassifier,
    StackedForecaster,
    StackedRegressor,
    StackedStepClassifier,
)
from liquidtime.networks import NETWORKS

__all__ = [
    "NETWORKS",
    "CfCClassifier",
    "CfCForecaster",
    "CfCImputer",
    "CfCMultiLabelClassifier",
    "CfCRegressor",
    "ModelFolderError",
    "StackedClassifier",
    "StackedForecaster",
    "StackedRegressor",
    "StackedStepClassifier",
    "load",
]
