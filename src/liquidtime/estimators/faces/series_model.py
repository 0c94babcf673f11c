"""What every estimator of irregular series is to scikit-learn and to a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from liquidtime._published import Published
from liquidtime.estimators.faces.show import facts_html


class SeriesModel(Published, BaseEstimator):  # type: ignore[misc]
    """An estimator whose inputs are series, with gaps, and which a seed makes repeatable."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.non_deterministic = False
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator; the device also of networks inside a fitted one."""
        super().set_params(**params)
        inside = self.__dict__.get("cfc_")
        if inside is not None and "device" in params:
            inside.set_params(device=params["device"])
        return self

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram and, once fitted, what the model was fitted to."""
        diagram: str = super()._html_repr()
        return diagram + facts_html(self)

    def _facts(self) -> dict[str, Sequence[Any]]:
        """Return what a notebook shows besides what all kinds have: names by title."""
        return {}
