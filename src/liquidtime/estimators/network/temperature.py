"""How sure a classifier may be: its logits are drawn towards the classes' shares by a temperature."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]
from torch import Tensor
from torch.nn.functional import cross_entropy

_LEAST, _MOST = 0.5, 100.0
_LEAST_SHARE = 1e-6


def log_shares(
    codes: npt.NDArray[np.int64], C: int, weights: Tensor | None = None, rows: npt.NDArray[np.float64] | None = None
) -> Tensor:
    """Return (C,) the logarithms of the classes' shares of the training series, each with its weight.

    Args:
        codes: (S,) classes 0…C - 1.
        C: how many there are.
        weights: (C,) of the classes; None for 1.
        rows: (S,) of the series; None for 1.
    """
    counts = torch.from_numpy(np.bincount(codes, rows, minlength=C)).double()
    weighted = counts if weights is None else counts * weights.double()
    return (weighted / weighted.sum()).clamp(min=_LEAST_SHARE).log()


def tempered(logits: Tensor, shares: Tensor, temperature: float) -> Tensor:
    """Return (..., C) the logits s + (z - s) / T of logits z, which tend to the guess as T grows.

    Args:
        logits: (..., C) z.
        shares: (C,) s, logarithms of the classes' shares.
        temperature: T.
    """
    s = shares.to(logits.dtype)
    return s + (logits - s - (logits - s).mean(dim=-1, keepdim=True)) / temperature


def fit_temperature(
    logits: Tensor, codes: Tensor, shares: Tensor, weights: Tensor | None, rows: Tensor | None = None
) -> tuple[float, float]:
    """Return the log loss on held-out series at the temperature that they allow, and that temperature, in [0.5, 100].

    The loss is convex in 1 / T, so that it has one least, at 1 / T*. Few series tell little about it: with the mean
    gain over the guess g and its standard error e,

        1 / T = max(0, 1 - e² / g²) / T*

    so that a gain which may be chance brings the probabilities near the guess.

    Args:
        logits: (n, C).
        codes: (n,) the classes.
        shares: (C,) as `log_shares` returns them.
        weights: (C,) of the classes in the loss; None for 1.
        rows: (n,) of the series in the loss; None for 1.
    """
    z = logits.double()
    w = (torch.ones(len(shares)) if weights is None else weights).double()[codes]
    w = w if rows is None else w * rows.double()
    w = w / w.mean().clamp(min=1e-300)

    def losses(sharpness: float) -> Tensor:
        return w * cross_entropy(tempered(z, shares, 1.0 / sharpness), codes, reduction="none")

    best = minimize_scalar(lambda b: float(losses(b).mean()), bounds=(1.0 / _MOST, 1.0 / _LEAST), method="bounded")
    gains = w * -shares[codes] - losses(float(best.x))
    gain, error = float(gains.mean()), float(gains.std(correction=0)) / len(codes) ** 0.5
    kept = max(0.0, 1.0 - (error / gain) ** 2) if gain > 0 else 0.0
    sharpness = max(float(best.x) * kept, 1.0 / _MOST)
    return float(losses(sharpness).mean()), 1.0 / sharpness
