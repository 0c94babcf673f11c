"""The weight of each series in training."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor


def check_weights(weights: Any, S: int) -> npt.NDArray[np.float64]:
    """Return (S,) weights of series, finite, at least 0 and not all 0, or refuse them.

    Args:
        weights: (S,) numbers, or one number for all.
        S: number of series.

    Raises:
        ValueError: another shape, or numbers that are no weights.

    """
    array = weights.to_numpy() if hasattr(weights, "to_numpy") else weights
    numbers = np.asarray(array)
    if numbers.dtype.kind in "if" and (numbers < 0).any():
        row = int(np.argmax(numbers < 0))
        raise ValueError(
            f"`sample_weight` must be at least 0 for every series; {int((numbers < 0).sum()):,} of {numbers.size:,} "
            "are "
            f"negative, the first is {numbers.ravel()[row]:g} in row {row}. To leave a series out, give it weight 0."
        )
    checked: npt.NDArray[np.float64] = _check_sample_weight(
        array, np.empty((S, 1)), dtype=np.float64, ensure_non_negative=True
    )
    scaled: npt.NDArray[np.float64] = checked / checked.mean()
    return scaled


def weight_tensor(weights: Any, S: int) -> Tensor | None:
    """Return (S,) weights as a tensor, with mean 1; None where none are given."""
    return None if weights is None else torch.from_numpy(check_weights(weights, S)).float()
