"""The public estimators, with the conventions of scikit-learn."""

from __future__ import annotations

from typing import Any

from liquidtime.estimators.faces.classifier import CfCClassifier
from liquidtime.estimators.faces.forecaster import CfCForecaster
from liquidtime.estimators.faces.imputer import CfCImputer
from liquidtime.estimators.faces.multi_label import CfCMultiLabelClassifier
from liquidtime.estimators.faces.regressor import CfCRegressor

_FACES = (CfCClassifier, CfCRegressor, CfCForecaster, CfCImputer, CfCMultiLabelClassifier)
ESTIMATORS: dict[str, Any] = {face._kind: face for face in _FACES}
"""Every estimator by its name in model folders."""

__all__ = ["ESTIMATORS", "CfCClassifier", "CfCForecaster", "CfCImputer", "CfCMultiLabelClassifier", "CfCRegressor"]
