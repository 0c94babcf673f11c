from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sktime.regression.base import BaseRegressor

from liquidtime.estimators import CfCRegressor
from liquidtime.integrations.sktime.panel import TAGS, as_set
from liquidtime.integrations.wrapped import inner_regressor


class LiquidRegressor(BaseRegressor):  # type: ignore[misc]
    """A regressor of this library as an sktime regressor, for its pipelines, tuning and benchmarks.

    >>> import numpy as np
    >>> import liquidtime as lt
    >>> from liquidtime.integrations.sktime import LiquidRegressor
    >>> from sktime.utils._testing.panel import _make_panel
    >>> X = _make_panel(n_instances=4, n_columns=2, n_timepoints=10, return_mtype="pd-multiindex")
    >>> model = LiquidRegressor(lt.CfCRegressor(epochs=1)).fit(X, np.array([1.0, 2.0, 1.5, 2.5]))
    >>> model.predict(X).shape
    (4,)

    Series may have several channels, unequal lengths, missing values (NaN) and uneven intervals: the times in the index
    of a panel, numbers or dates, are used.

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
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return arguments for tests."""
        small: dict[str, Any] = {"hidden_size": 4, "backbone_units": 4, "read_out_units": 4, "epochs": 1}
        return [{"estimator": CfCRegressor(**small), "random_state": 0}, {"estimator": CfCRegressor("gru", **small)}]
