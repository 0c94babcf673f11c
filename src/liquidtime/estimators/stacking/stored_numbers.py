"""What the files of stacked models have in common: numbers, figures, and what arrays were given in training."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def number_of(name: str, number: Any, most: float) -> float:
    """Return a stored number from 0 to `most`, or refuse it."""
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 <= number <= most:
        raise ValueError(f"`{name}` must be a number from 0 to {most:g}; got {number!r}")
    return float(number)


def figures_of(stored: Any) -> dict[str, float]:
    """Return stored figures, finite numbers by name, or refuse them."""
    if not isinstance(stored, dict) or not all(
        isinstance(value, int | float) and math.isfinite(value) for value in stored.values()
    ):
        raise ValueError("`figures` must be finite numbers by name")
    return {str(name): float(value) for name, value in stored.items()}


def inputs_of(model: Any) -> dict[str, Any]:
    """Return how many features arrays had in training, and their names; None where there were no arrays."""
    return {
        "features": getattr(model, "n_features_in_", None),
        "names": [str(name) for name in getattr(model, "feature_names_in_", ())] or None,
    }


def set_inputs(model: Any, inputs: Any) -> None:
    """Take what `inputs_of` returned."""
    if type(inputs["features"]) is int:
        model.n_features_in_ = inputs["features"]
    if isinstance(inputs["names"], list):
        model.feature_names_in_ = np.array([str(name) for name in inputs["names"]], dtype=object)
