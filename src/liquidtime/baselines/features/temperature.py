"""Calibration of a classifier: the temperature of its scores, and how far its probabilities can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.segments import Floats

LEAST_TRUST = 0.1
"""Smallest trust: a model without any success on held-out rows still ranks rows by a tenth of its answer."""
_SMALLEST = 1e-6
_ENOUGH = 20_000
"""Number of rows that is enough to choose a temperature."""


@dataclass(frozen=True)
class Calibration:
    """The conversion of scores to probabilities.

        p = trust · softmax(scores / temperature) + (1 - trust) · shares

    The temperature never changes which class is the most probable; the trust can, but only for rows about which the
    model is unsure, and only if the model was not shown to be better than the frequencies of the classes.

    Args:
        temperature: greater than 0; the larger, the less certain.
        trust: in (0, 1], the weight of the model relative to the guess.
    """

    temperature: float = 1.0
    trust: float = 1.0

    def apply(self, scores: Floats, shares: Floats) -> Floats:
        """Return (n, K) probabilities.

        Args:
            scores: (n, K), logarithms of probabilities or logits; rows of NaN stay NaN.
            shares: (K,) frequencies of the classes.
        """
        return self.trust * tempered(scores, self.temperature) + (1.0 - self.trust) * shares


def log_scores(probabilities: Floats) -> Floats:
    """Return (n, K) the logarithms of probabilities, also finite for probabilities of 0; NaN stays NaN.

    Args:
        probabilities: (n, K).
    """
    logarithms: Floats = np.log(np.maximum(probabilities, _SMALLEST))
    return logarithms


def tempered(scores: Floats, temperature: float) -> Floats:
    """Return (n, K) probabilities: the softmax of the scores divided by the temperature.

    Args:
        scores: (n, K), logarithms of probabilities or other scores; rows of NaN stay NaN.
        temperature: greater than 0; the larger, the less certain.
    """
    raised = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    probabilities: Floats = raised / raised.sum(axis=1, keepdims=True)
    return probabilities


def best_temperature(
    scores: Floats, codes: npt.NDArray[np.int64], temperatures: Sequence[float], weights: Floats | None = None
) -> tuple[float, float]:
    """Return the smallest log loss over some temperatures, and the temperature that reaches it.

    If there are very many rows, evenly spread ones choose the temperature; the loss is that of all rows.

    Args:
        scores: (n, K) out-of-fold scores, finite.
        codes: (n,) true classes 0…K - 1.
        temperatures: temperatures to choose from.
        weights: (n,) weight of each row; None for equal weights.
    """

    def loss(temperature: float, rows: slice) -> float:
        losses = _losses(tempered(scores[rows], temperature), codes[rows])
        return float(np.average(losses, weights=None if weights is None else weights[rows]))

    some = slice(None, None, max(1, len(codes) // _ENOUGH))
    best = min(temperatures, key=lambda one: loss(one, some))
    return loss(best, slice(None)), best


def fit_calibration(
    scores: Floats,
    codes: npt.NDArray[np.int64],
    shares: Floats,
    temperatures: Sequence[float],
    weights: Floats | None = None,
) -> tuple[float, Calibration]:
    """Return the log loss of held-out rows after calibration, and the calibration itself.

    The temperature minimises the loss. Few rows may look good by chance, so the trust is computed from the mean gain
    over the guess, g, and its standard error, e,

        trust = g² / (g² + e²)    where g > 0, at least 0.1 and at most n / (n + 1)

    and n rows, however good, leave room for the possibility that the next one is predicted wrongly.

    Args:
        scores: (n, K) held-out scores, finite.
        codes: (n,) true classes 0…K - 1.
        shares: (K,) frequencies of the classes in training.
        temperatures: temperatures to choose from.
        weights: (n,) weight of each row; None for equal weights.
    """
    temperature = best_temperature(scores, codes, temperatures, weights)[1]
    counts = np.ones(len(codes)) if weights is None else weights / max(float(weights.mean()), 1e-300)
    own = counts * _losses(tempered(scores, temperature), codes)
    gains = counts * _losses(np.broadcast_to(shares, scores.shape), codes) - own
    gain, variance = float(gains.mean()), float(gains.var()) / len(gains)
    trust = max(LEAST_TRUST, gain**2 / (gain**2 + variance)) if gain > 0 else LEAST_TRUST
    trust = min(trust, len(codes) / (len(codes) + 1))
    calibration = Calibration(temperature, trust)
    loss = float((counts * _losses(calibration.apply(scores, shares), codes)).mean())
    return loss, calibration


def _losses(probabilities: Floats, codes: npt.NDArray[np.int64]) -> Floats:
    """Return (n,) negative logarithms of the probabilities of the true classes."""
    own: Floats = -np.log(np.maximum(probabilities[np.arange(len(codes)), codes], _SMALLEST))
    return own
