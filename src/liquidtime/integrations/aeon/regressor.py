from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from aeon.regression import BaseRegressor

from liquidtime.estimators import CfCRegressor
from liquidtime.integrations.aeon.collection import TAGS, as_set
from liquidtime.integrations.wrapped import inner_regressor


class LiquidRegressor(BaseRegressor):  # type: ignore[misc]
    """A regressor of this library as an aeon regressor, for its pipelines, ensembles and benchmarks.

        LiquidRegressor(lt.StackedRegressor()).fit(X, y).predict(X_test)

    Series may have several channels, unequal lengths and missing values (NaN). Collections of aeon have no times, so
    samples are assumed to be one unit of time apart.

    Args:
        estimator: a regressor of this library, which is copied; None for `lt.CfCRegressor()`.
        random_state: random seed that replaces that of the estimator; None to keep it.

    Attributes:
        estimator_: the fitted regressor, which can be saved with `save` and passed to `lt.explain`.
    """

    _tags: ClassVar[dict[str, Any]] = TAGS

    def __init__(self, estimator: Any = None, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Any, y: Any) -> LiquidRegressor:
        self.estimator_ = inner_regressor(self.estimator, self.random_state).fit(as_set(X), y)
        return self

    def _predict(self, X: Any) -> npt.NDArray[np.float64]:
        values: npt.NDArray[np.float64] = self.estimator_.predict(as_set(X))
        return values

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"estimator": CfCRegressor(hidden_size=4, backbone_units=4, read_out_units=4, epochs=1)}
