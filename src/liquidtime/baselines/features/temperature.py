"""One factor on a classifier's scores, so that its probabilities are as sure as they are right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.segments import Floats

_SMALLEST = 1e-6


def log_scores(probabilities: Floats) -> Floats:
    """Return (n, K) the logarithms of probabilities, finite also where one is 0; NaN stays NaN.

    Args:
        probabilities: (n, K).
    """
    logarithms: Floats = np.log(np.maximum(probabilities, _SMALLEST))
    return logarithms


def tempered(scores: Floats, factor: float) -> Floats:
    """Return (n, K) probabilities: the softmax of factor times the scores.

    Args:
        scores: (n, K), logarithms of probabilities or others; rows of NaN stay NaN.
        factor: the larger, the surer.
    """
    raised = np.exp(factor * (scores - scores.max(axis=1, keepdims=True)))
    probabilities: Floats = raised / raised.sum(axis=1, keepdims=True)
    return probabilities


def best_temperature(
    scores: Floats, codes: npt.NDArray[np.int64], factors: Sequence[float], weights: Floats | None = None
) -> tuple[float, float]:
    """Return the least log loss over some factors, and the factor that has it.

    Args:
        scores: (n, K) out-of-fold, finite.
        codes: (n,) true classes 0…K - 1.
        factors: to choose from.
        weights: (n,) how much each row counts; None for all alike.
    """
    rows = np.arange(len(codes))
    losses = [
        float(-np.average(np.log(np.maximum(tempered(scores, factor)[rows, codes], _SMALLEST)), weights=weights))
        for factor in factors
    ]
    best = int(np.argmin(losses))
    return losses[best], factors[best]
