"""A collection of aeon as a set of series."""

from __future__ import annotations

from typing import Any

import numpy as np

from liquidtime.data import SeriesSet

TAGS: dict[str, Any] = {
    "X_inner_type": ["np-list", "numpy3D"],
    "capability:multivariate": True,
    "capability:unequal_length": True,
    "capability:missing_values": True,
}
"""Capabilities of the estimators."""


def as_set(X: Any) -> SeriesSet:
    """Return the series of a collection, at times 0…T - 1; NaN is not observed.

    Args:
        X: (S, C, T), or a list of S arrays (C, T_i).
    """
    if isinstance(X, np.ndarray):
        return SeriesSet.from_arrays(X, axes="SCT")
    return SeriesSet.from_arrays([(np.arange(series.shape[1]), series.T) for series in X])
