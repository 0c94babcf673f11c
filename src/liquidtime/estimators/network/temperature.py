"""Calibration of class probabilities on held-out series, and its computation in torch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.baselines.features.temperature import Calibration, fit_calibration

TEMPERATURES = tuple(np.geomspace(0.5, 100.0, 80).tolist())
"""Candidates."""
_LEAST_SHARE, _LEAST_CHANCE = 1e-6, 1e-12


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


def calibrated(logits: Tensor, shares: Tensor, calibration: Calibration) -> Tensor:
    """Return (..., C) probabilities of logits, as `Calibration.apply` defines them.

    Args:
        logits: (..., C).
        shares: (C,) logarithms of the classes' shares.
        calibration: the temperature and the trust.
    """
    own = (logits / calibration.temperature).softmax(dim=-1)
    if calibration.trust == 1.0:
        return own
    return calibration.trust * own + (1.0 - calibration.trust) * shares.exp().to(own.dtype)


def fit_temperature(
    logits: Tensor, codes: Tensor, shares: Tensor, weights: Tensor | None, rows: Tensor | None = None
) -> tuple[float, Calibration]:
    """Return the calibrated log loss on held-out series, and the calibration.

    Args:
        logits: (n, C).
        codes: (n,) the classes.
        shares: (C,) as `log_shares` returns them.
        weights: (C,) of the classes in the loss; None for 1.
        rows: (n,) of the series in the loss; None for 1.
    """
    each = _counts(codes, weights, rows)
    return fit_calibration(
        logits.double().numpy(), codes.numpy(), shares.exp().double().numpy(), TEMPERATURES, each.numpy()
    )


def log_loss_of(
    logits: Tensor,
    codes: Tensor,
    shares: Tensor,
    calibration: Calibration,
    weights: Tensor | None,
    rows: Tensor | None = None,
) -> float:
    """Return the log loss with a given calibration; NaN where nothing counts. Other arguments as `fit_temperature`."""
    each = _counts(codes, weights, rows)
    own = calibrated(logits.double(), shares, calibration).gather(-1, codes[:, None])[:, 0]
    return float(-(own.clamp(min=_LEAST_CHANCE).log() @ each) / each.sum())


def _counts(codes: Tensor, weights: Tensor | None, rows: Tensor | None) -> Tensor:
    each = torch.ones(len(codes), dtype=torch.float64) if weights is None else weights.double()[codes]
    return each if rows is None else each * rows.double()
