"""The backward pass of one training step: gradients, loss and weight, summed over all ranks in one flat tensor."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from liquidtime._checks import DeferredChecks
from liquidtime.training.devices import numbers_of
from liquidtime.training.objective import Loss
from liquidtime.training.ranks import Ranks, Share, sharing
from liquidtime.training.signals import StopRequest


class SharedStep:
    """What a step does together with other ranks.

    Args:
        ranks: the ranks of the run.
        stop: whether this rank was asked to stop.
    """

    def __init__(self, ranks: Ranks, stop: StopRequest) -> None:
        self.ranks, self._stop = ranks, stop
        self._asked: signal.Signals | None = None

    @property
    def asked(self) -> signal.Signals | None:
        """The signal that asks the run to stop: of this process alone, or as agreed by all ranks in the last step."""
        return self._stop.signal if self.ranks.world == 1 else self._asked

    @contextmanager
    def of(self, batch: Any) -> Iterator[Share | None]:
        """Make random draws within the block for the whole batch, and return this rank's share of it.

        Raises:
            TypeError: there are several ranks, but the batch has no `share`.

        """
        share: Share | None = getattr(batch, "share", None)
        if self.ranks.world > 1 and share is None:
            raise TypeError(
                f"`batches` must return this rank's rows of each batch, with a `share`, to {self.ranks.world} ranks; "
                f"got {type(batch).__name__} without one"
            )
        with sharing(share):
            yield share

    def backward(
        self, loss: Loss, parameters: Sequence[nn.Parameter], share: Share | None
    ) -> tuple[Tensor | float, float]:
        """Compute the gradients of the total of the whole batch; return the total and its weight.

        With one process, the total is still a tensor that has not been read from its device.

        Args:
            loss: loss of this rank's rows.
            parameters: their gradients are summed over all ranks.
            share: this rank's share of the batch; None for the whole batch.
        """
        weights = [float(loss.weight), *(float(one.weight) for one in loss.beside)]
        if self.ranks.world == 1:
            if weights[0] == 0:
                return 0.0, 0.0
            total = _whole(loss, weights)
            total.backward()  # type: ignore[no-untyped-call]
            return total.detach(), weights[0]
        counts = float(share is not None and share.counts)
        own = counts * weights[0]
        if loss.beside:
            weights = self.ranks.sum(counts * torch.tensor(weights, dtype=torch.float64)).tolist()
        total = _whole(loss, weights) * counts
        total.backward()  # type: ignore[no-untyped-call]
        return self._summed(float(total.detach()), own, parameters)

    def _summed(self, total: float, weight: float, parameters: Sequence[nn.Parameter]) -> tuple[float, float]:
        kind = torch.float64 if any(each.dtype == torch.float64 for each in parameters) else torch.float32
        asked = self._stop.signal
        facts = [total, weight, float(asked is not None), *(float(each.grad is not None) for each in parameters)]
        parts = [torch.zeros_like(each) if each.grad is None else each.grad for each in parameters]
        own = torch.cat([part.detach().to(kind).flatten() for part in parts]).cpu()  # ranks meet on the host
        flat = self.ranks.sum(torch.cat([own, torch.tensor(facts, dtype=kind)]))
        gradients = torch.split(flat[: -len(facts)], [each.numel() for each in parameters])
        total, weight, stopping, *present = flat[-len(facts) :].tolist()
        for each, gradient, some in zip(parameters, gradients, present, strict=True):
            each.grad = gradient.view_as(each).to(each.device, each.dtype) if some else None
        if stopping:
            self._asked = asked or signal.SIGTERM
        return total, weight


def read_step(total: Tensor | float, norm: Tensor, checks: DeferredChecks) -> tuple[float, float]:
    """Return the total and the norm of a step as numbers, and make its deferred checks: one copy from the device.

    Args:
        total: total of the loss.
        norm: () norm of the gradients.
        checks: deferred checks of the inputs of the step.

    Raises:
        ValueError: an interval or a length is invalid.

    """
    flags = checks.flags
    if norm.device.type == "cpu" and not flags:
        return float(total), float(norm)
    whole = total if isinstance(total, Tensor) else norm.new_tensor(total)
    number, size, *good = numbers_of([whole.to(norm.device), norm, *flags])
    checks.settle(good)
    return number if isinstance(total, Tensor) else total, size


def _whole(loss: Loss, weights: Sequence[float]) -> Tensor:
    """Return a total that, divided by the first weight, gives the mean of the whole loss."""
    total = loss.total
    for one, weight in zip(loss.beside, weights[1:], strict=True):
        if weight > 0:
            total = total + weights[0] * one.total / weight
    return total
