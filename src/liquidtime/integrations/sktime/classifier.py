from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sktime.classification.base import BaseClassifier

from liquidtime.estimators import CfCClassifier
from liquidtime.integrations.sktime.panel import TAGS, as_set
from liquidtime.integrations.wrapped import inner_classifier


class LiquidClassifier(BaseClassifier):  # type: ignore[misc]
    """A classifier of this library as an sktime classifier, for its pipelines, tuning and benchmarks.

    >>> import numpy as np
    >>> import liquidtime as lt
    >>> from liquidtime.integrations.sktime import LiquidClassifier
    >>> from sktime.utils._testing.panel import _make_panel
    >>> X = _make_panel(n_instances=4, n_columns=2, n_timepoints=10, return_mtype="pd-multiindex")
    >>> model = LiquidClassifier(lt.CfCClassifier(epochs=1)).fit(X, np.array(["up", "down", "up", "down"]))
    >>> model.predict(X).shape
    (4,)

    Series may have several channels, unequal lengths, missing values (NaN) and uneven intervals: the times in the index
    of a panel, numbers or dates, are used.

    Args:
        estimator: a classifier of this library, which is copied; None for `lt.CfCClassifier()`.
        random_state: random seed that replaces that of the estimator; None to keep it.

    Attributes:
        estimator_: the fitted classifier, which can be saved with `save` and passed to `lt.explain`.
    """

    _tags: ClassVar[dict[str, Any]] = TAGS | {"capability:predict_proba": True}

    def __init__(self, estimator: Any = None, random_state: Any = None) -> None:
        self.estimator = estimator
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: Any, y: Any) -> LiquidClassifier:
        self.estimator_ = inner_classifier(self.estimator, self.random_state).fit(as_set(X), y)
        return self

    def _predict(self, X: Any) -> npt.NDArray[Any]:
        classes: npt.NDArray[Any] = self.estimator_.predict(as_set(X))
        return classes

    def _predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        probabilities: npt.NDArray[np.float64] = self.estimator_.predict_proba(as_set(X))
        return probabilities

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return arguments for tests."""
        small: dict[str, Any] = {"hidden_size": 4, "backbone_units": 4, "read_out_units": 4, "epochs": 1}
        return [{"estimator": CfCClassifier(**small), "random_state": 0}, {"estimator": CfCClassifier("gru", **small)}]
