"""Losses as a sum and its weight, so that batches of any sizes add up to exactly one large batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from liquidtime.errors import wrong_shape
from liquidtime.training.devices import moved, taken


class Loss(NamedTuple):
    """A mean loss in two parts.

        mean = total / weight + Σ beside.total / beside.weight

    Sums and weights can be added over batches, and over ranks that share a batch; means cannot.

    Args:
        total: () sum over the batch, with a gradient.
        weight: divisor of the sum: number of rows or observed values, or the sum of their class weights.
        beside: further losses with weights of their own, such as for auxiliary targets; those of weight 0 are ignored.
    """

    total: Tensor
    weight: Tensor | float
    beside: tuple[Loss, ...] = ()


def as_loss(value: Loss | Tensor) -> Loss:
    """Return the value of an objective as a `Loss`; a mean becomes a `Loss` of weight 1.

    Raises:
        TypeError: the value is neither a `Loss` nor a scalar tensor.
        ValueError: the value has no gradient.

    """
    loss = value if isinstance(value, Loss) else Loss(value, 1.0)
    if not isinstance(loss.total, Tensor) or loss.total.dim() != 0:
        came = tuple(loss.total.shape) if isinstance(loss.total, Tensor) else type(loss.total).__name__
        raise TypeError(f"`objective` must return a Loss or a scalar tensor; got {came}")
    if not loss.total.requires_grad:
        raise ValueError("`objective` returned a loss without gradient; compute it from the model's output.")
    return loss


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    class_weights: Sequence[float] | Tensor | None = None,
    mask: Tensor | None = None,
    row_weights: Tensor | None = None,
) -> Loss:
    """Return the cross entropy with weights of classes and rows.

        mean = Σ v·w[y]·(−log softmax(logits)[y]) / Σ v·w[y]

    Args:
        logits: (..., C), C >= 2.
        target: (...) whole numbers in 0…C−1. Like `mask` and the weights, it may be on the host while the logits are on
            another device; the host then does not wait for the device.
        class_weights: (C,) w, at least 0; None for 1 each.
        mask: (...) True where a target counts; None for everywhere.
        row_weights: (...) v, at least 0; None for 1 each.

    Raises:
        ValueError: shapes do not fit, a target is not a class, or weights are negative.

    """
    C = logits.shape[-1]
    if C < 2:
        raise ValueError(f"`logits` must have at least 2 classes on the last axis; got shape {tuple(logits.shape)}")
    _same_shape("target", target, logits.shape[:-1])
    flat, wanted = _wide(logits).reshape(-1, C), target.reshape(-1)
    if mask is not None:
        _same_shape("mask", mask, logits.shape[:-1])
        flat, wanted = taken(flat, mask.reshape(-1)), wanted[mask.reshape(-1)]
    if row_weights is not None:
        _same_shape("row_weights", row_weights, logits.shape[:-1])
        row_weights = row_weights.reshape(-1) if mask is None else row_weights.reshape(-1)[mask.reshape(-1)]
    if wanted.numel() and not (int(wanted.min()) >= 0 and int(wanted.max()) < C):
        raise ValueError(f"`target` must be in 0…{C - 1}; got {int(wanted.min())}…{int(wanted.max())}")
    there = flat.device
    if class_weights is None and row_weights is not None:
        each = functional.cross_entropy(flat, moved(wanted, there), reduction="none")
        return Loss((each * moved(row_weights, there)).sum(), row_weights.sum())
    if class_weights is None:
        return Loss(functional.cross_entropy(flat, moved(wanted, there), reduction="sum"), float(len(wanted)))
    weights = torch.as_tensor(class_weights, dtype=flat.dtype, device=wanted.device)
    if weights.shape != (C,):
        raise wrong_shape("class_weights", "(C,)", [C], weights.shape, "One weight per class.")
    if not bool((weights >= 0).all()) or not bool(torch.isfinite(weights).all()):
        raise ValueError(f"`class_weights` must be finite and at least 0; got {weights.tolist()}")
    if row_weights is not None:
        both = weights[wanted] * row_weights
        each = functional.cross_entropy(flat, moved(wanted, there), reduction="none")
        return Loss((each * moved(both, there)).sum(), both.sum())
    total = functional.cross_entropy(flat, moved(wanted, there), weight=moved(weights, there), reduction="sum")
    return Loss(total, weights[wanted].sum())


def squared_error(output: Tensor, target: Tensor, mask: Tensor | None = None, weights: Tensor | None = None) -> Loss:
    """Return Σ w·(output − target)² over the values that count, and the sum of their weights w.

    Args:
        output: (...) predictions.
        target: (...) of the same shape. Like `mask` and `weights`, it may be on the host while the output is on
            another device.
        mask: (...) True where a value counts; None for everywhere. Other values of the target may be NaN.
        weights: (...) w, at least 0; None for 1 each.
    """
    return _error(output, target, mask, 2, weights)


def absolute_error(output: Tensor, target: Tensor, mask: Tensor | None = None) -> Loss:
    """Return Σ |output − target| over the values that count, and their number; shapes as in `squared_error`."""
    return _error(output, target, mask, 1)


def _error(output: Tensor, target: Tensor, mask: Tensor | None, power: int, weights: Tensor | None = None) -> Loss:
    _same_shape("target", target, output.shape)
    if mask is not None:
        _same_shape("mask", mask, output.shape)
        output, target = taken(output, mask), taken(target, mask)
        weights = None if weights is None else taken(weights, mask)
    target = moved(target, output.device)
    if weights is not None:
        _same_shape("weights", weights, output.shape)
        each = moved(weights, output.device)
        return Loss(((_wide(output) - target).abs().pow(power) * each).sum(), weights.sum())
    return Loss((_wide(output) - target).abs().pow(power).sum(), float(output.numel()))


def _wide(output: Tensor) -> Tensor:
    """Return the output in at least float32, as sums over a batch need more digits than half precision has."""
    return output.float() if output.dtype in (torch.bfloat16, torch.float16) else output


def _same_shape(name: str, tensor: Tensor, shape: torch.Size) -> None:
    if tensor.shape != shape:
        raise wrong_shape(name, "(...)", list(shape), tensor.shape, "One per prediction.")
