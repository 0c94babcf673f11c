"""A panel of sktime as a set of series."""

from __future__ import annotations

from typing import Any

from liquidtime.data import SeriesSet

TAGS: dict[str, Any] = {
    "X_inner_mtype": "pd-multiindex",
    "y_inner_mtype": "numpy1D",
    "capability:multivariate": True,
    "capability:unequal_length": True,
    "capability:missing_values": True,
    "capability:random_state": True,
    "property:randomness": "derandomized",
    "authors": "liquidtime",
    "maintainers": "liquidtime",
    "python_dependencies": "torch",
}
"""Capabilities of the estimators."""


def as_set(X: Any) -> SeriesSet:
    """Return the series of a panel, in its order, at the times of its index; NaN is not observed.

    Args:
        X: a pandas frame with one row per sample, indexed by series and time, and one column per channel; columns of
            strings are categorical.
    """
    named = X.set_axis([str(name) for name in X.columns], axis=1)
    texts = [name for name, kind in named.dtypes.items() if kind.kind not in "biuf"]
    return SeriesSet.from_wide(named, ids=X.index.get_level_values(0).unique(), categorical=texts)
