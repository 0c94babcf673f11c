"""Estimators with scikit-learn's face: fit, predict, score, save."""

from liquidtime.estimators.classifier import CfCClassifier
from liquidtime.estimators.forecaster import CfCForecaster
from liquidtime.estimators.model_config import ModelFolderError
from liquidtime.estimators.model_folder import load
from liquidtime.estimators.networks import NETWORKS
from liquidtime.estimators.regressor import CfCRegressor

__all__ = ["NETWORKS", "CfCClassifier", "CfCForecaster", "CfCRegressor", "ModelFolderError", "load"]
