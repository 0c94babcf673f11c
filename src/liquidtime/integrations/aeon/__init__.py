"""Classifier and regressor of aeon."""

try:
    import aeon as _aeon  # noqa: F401
    import numba as _numba  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}; the estimators for aeon need it: pip install 'liquidtime[aeon]'") from None

from liquidtime.integrations.aeon.classifier import LiquidClassifier
from liquidtime.integrations.aeon.regressor import LiquidRegressor

__all__ = ["LiquidClassifier", "LiquidRegressor"]
