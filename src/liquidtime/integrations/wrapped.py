"""The estimator inside a wrapper for another library."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone, is_classifier, is_regressor


def inner_classifier(estimator: Any, random_state: Any) -> Any:
    """Return an unfitted copy of a classifier of whole series; None for `lt.CfCClassifier`.

    Args:
        estimator: the classifier, or None.
        random_state: random seed that replaces that of the classifier; None to keep it.

    Raises:
        TypeError: not a classifier of series.

    """
    from liquidtime.estimators import CfCClassifier

    model = _copy(CfCClassifier() if estimator is None else estimator, is_classifier, "classifier", random_state)
    if getattr(model, "per_step", False):
        raise TypeError(
            "`estimator` must predict one class per series; got one with `per_step`, which predicts one per sample"
        )
    return model


def inner_regressor(estimator: Any, random_state: Any) -> Any:
    """Return an unfitted copy of a regressor; None for `lt.CfCRegressor`. Arguments as in `inner_classifier`."""
    from liquidtime.estimators import CfCRegressor

    return _copy(CfCRegressor() if estimator is None else estimator, is_regressor, "regressor", random_state)


def _copy(estimator: Any, suits: Any, kind: str, random_state: Any) -> Any:
    from liquidtime.estimators.faces.series_model import SeriesModel

    if not isinstance(estimator, SeriesModel) or not suits(estimator):
        raise TypeError(
            f"`estimator` must be a {kind} of liquidtime, such as lt.CfC{kind.capitalize()}(); "
            f"got {type(estimator).__name__}"
        )
    model = clone(estimator)
    return model if random_state is None else model.set_params(random_state=random_state)
