from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from aeon.classification import BaseClassifier

from liquidtime.estimators import CfCClassifier
from liquidtime.integrations.aeon.collection import TAGS, as_set
from liquidtime.integrations.wrapped import inner_classifier


class LiquidClassifier(BaseClassifier):  # type: ignore[misc]
    """A classifier of this library as an aeon classifier, for its pipelines, ensembles and benchmarks.

        LiquidClassifier(lt.StackedClassifier()).fit(X, y).predict(X_test)

    Series may have several channels, unequal lengths and missing values (NaN). Collections of aeon have no times, so
    samples are assumed to be one unit of time apart.

    Args:
        estimator: a classifier of this library, which is copied; None for `lt.CfCClassifier()`.
        random_state: random seed that replaces that of the estimator; None to keep it.

    Attributes:
        estimator_: the fitted classifier, which can be saved with `save` and passed to `lt.explain`.
    """

    _tags: ClassVar[dict[str, Any]] = TAGS

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
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        return {"estimator": CfCClassifier(hidden_size=4, backbone_units=4, read_out_units=4, epochs=1)}
