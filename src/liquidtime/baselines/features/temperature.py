"""One factor on the logarithms of probabilities, so that they are as sure as they are right."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.segments import Floats

FACTORS = tuple(np.geomspace(0.25, 4.0, 33).tolist())
_SMALLEST = 1e-6


def tempered(probabilities: Floats, factor: float) -> Floats:
    """Return (n, K) probabilities proportional to p ** factor; none is exactly 0.

    Args:
        probabilities: (n, K); rows of NaN stay NaN.
        factor: above 1 surer, below 1 less sure.
    """
    logs = factor * np.log(np.maximum(probabilities, _SMALLEST))
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    scaled: Floats = raised / raised.sum(axis=1, keepdims=True)
    return scaled


def best_temperature(probabilities: Floats, codes: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the least log loss over `FACTORS`, and the factor that has it.

    Args:
        probabilities: (n, K) out-of-fold.
        codes: (n,) true classes 0…K - 1.
    """
    rows = np.arange(len(codes))
    losses = [float(-np.log(tempered(probabilities, factor)[rows, codes]).mean()) for factor in FACTORS]
    best = int(np.argmin(losses))
    return losses[best], FACTORS[best]
