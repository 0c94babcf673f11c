"""Weights for averaging several models, from the predictions of each for rows it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._checks import check_choice
from liquidtime.baselines.features.segments import Floats

LOSSES = ("log_loss", "mse")
ROUNDS = 500
LEAST = 0.01
"""Weights below this are set to 0, unless that makes the loss worse."""
_SMALLEST = 1e-12


def blend_weights(
    oof_predictions: Sequence[npt.NDArray[Any]], y: npt.NDArray[Any], loss: str, rows: Floats | None = None
) -> Floats:
    """Return (M,) non-negative weights that sum to one and minimise the loss of the weighted mean.

    The loss is convex in the weights. They start equal and are updated by exponentiated gradients; on these predictions
    they are never worse than the best single model.

    Args:
        oof_predictions: M arrays, (n, K) probabilities for "log_loss", (n,) or (n, K) values for "mse". Rows in which
            any model has NaN are left out.
        y: (n,) classes 0…K - 1 for "log_loss"; values in the shape of the predictions for "mse".
        loss: "log_loss" or "mse".
        rows: (n,) weight of each row in the loss; None for equal weights.

    Raises:
        ValueError: there is no model, arrays differ in shape, or no row is predicted by all models.
    """
    check_choice("loss", loss, LOSSES)
    members = [np.asarray(prediction, dtype=np.float64) for prediction in oof_predictions]
    if not members:
        raise ValueError("`oof_predictions` must have at least one model; got none")
    if len({member.shape for member in members}) > 1 or len(members[0]) != len(y):
        shapes = ", ".join(str(member.shape) for member in members)
        raise ValueError(f"`oof_predictions` must have one shape and as many rows as `y`, {len(y)}; got {shapes}")
    stack = np.stack([member.reshape(len(member), -1) for member in members])  # (M, n, K)
    known = np.isfinite(stack).all(axis=(0, 2))
    if not known.any():
        raise ValueError("`oof_predictions` must have rows that every model predicts; got none")
    target = np.asarray(y)[known]
    counts = np.ones(len(target)) if rows is None else np.asarray(rows, dtype=np.float64)[known]
    counts = counts / counts.mean() if counts.any() else np.ones(len(target))
    if loss == "log_loss":
        chances = np.maximum(stack[:, known][:, np.arange(len(target)), target.astype(np.int64)], _SMALLEST)
        return _least_log_loss(chances, counts)
    errors = stack[:, known] - target.astype(np.float64).reshape(len(target), -1)
    return _least_squares((errors * np.sqrt(counts)[:, None]).reshape(len(members), -1))


def blended(predictions: Sequence[npt.NDArray[Any]], weights: Floats) -> Floats:
    """Return the weighted mean of the predictions of M models.

    Args:
        predictions: M arrays of one shape.
        weights: (M,).
    """
    return np.tensordot(weights, np.stack([np.asarray(p, dtype=np.float64) for p in predictions]), axes=1)


def _least_log_loss(chances: Floats, counts: Floats) -> Floats:
    """Return the weights for (M, n) probabilities of the true classes: the fixed point of EM for a mixture.

    `counts` (n,) are the weights of the rows, with mean 1.
    """
    weights = np.full(len(chances), 1.0 / len(chances))
    for _ in range(ROUNDS):
        shares = weights[:, None] * chances
        new = (shares / shares.sum(axis=0) * counts).mean(axis=1)
        moved = float(np.abs(new - weights).max())
        weights = new
        if moved < 1e-7:
            break
    return _settled(weights, lambda w: float(-(np.log(w @ chances) * counts).mean()))


def _least_squares(errors: Floats) -> Floats:
    """Return the weights for (M, n) errors of values: projected gradients on the simplex."""
    gram = errors @ errors.T / errors.shape[1]  # the loss of weights w that sum to one is w^T gram w
    weights = np.full(len(errors), 1.0 / len(errors))
    rate = 0.5 / max(float(np.linalg.eigvalsh(gram)[-1]), _SMALLEST)
    for _ in range(ROUNDS * 10):
        new = _on_simplex(weights - 2.0 * rate * (gram @ weights))
        moved = float(np.abs(new - weights).max())
        weights = new
        if moved < 1e-9:
            break
    return _settled(weights, lambda w: float(w @ gram @ w))


def _settled(weights: Floats, loss: Callable[[Floats], float]) -> Floats:
    """Return the weights, without negligible ones if that costs next to nothing; or the best single model."""
    singles = np.eye(len(weights))
    alone = [loss(single) for single in singles]
    pruned = np.where(weights < LEAST, 0.0, weights)
    if pruned.any():
        pruned /= pruned.sum()
        if loss(pruned) <= min(*alone, loss(weights) * (1.0 + np.sign(loss(weights)) * 1e-4)):
            return pruned
    return weights if loss(weights) <= min(alone) else singles[int(np.argmin(alone))]


def _on_simplex(vector: Floats) -> Floats:
    """Return the nearest point whose entries are non-negative and sum to one (Duchi et al. 2008)."""
    falling = np.sort(vector)[::-1]
    excess = (np.cumsum(falling) - 1.0) / np.arange(1, len(vector) + 1)
    nearest: Floats = np.maximum(vector - excess[np.flatnonzero(falling > excess)[-1]], 0.0)
    return nearest
