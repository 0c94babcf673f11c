"""Classifier and regressor of sktime."""

try:
    import sktime as _sktime  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}; the estimators for sktime need it: pip install 'liquidtime[sktime]'") from None

from liquidtime.integrations.sktime.classifier import LiquidClassifier
from liquidtime.integrations.sktime.regressor import LiquidRegressor

__all__ = ["LiquidClassifier", "LiquidRegressor"]
