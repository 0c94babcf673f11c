"""The task of an experiment as models see it: inputs, outputs, loss and metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from liquidtime.paper.datasets import Sequences
from liquidtime.training import METRICS, Loss, cross_entropy, squared_error


@dataclass(frozen=True)
class Framework:
    """Differences between the two public implementations that are in no table of the paper.

    Attributes:
        head_activation: activation of the heads of a CfC.
        dropout_placement: placement of dropout in the backbone.
        memory: structure of the mixed memory.
        rate_every: whether the learning rate falls at every step or every epoch.
        decoupled: whether `weight_decay` is that of AdamW; otherwise it is an L2 penalty on backbone and heads.
        smoothing: share of the past in the mean of squared gradients of RMSprop.
        epsilon: constant that is added to the root of that mean.

    """

    head_activation: str
    dropout_placement: str
    memory: str
    rate_every: str
    decoupled: bool
    smoothing: float
    epsilon: float


TENSORFLOW = Framework("lecun_tanh", "every", "input", "step", decoupled=False, smoothing=0.9, epsilon=1e-7)
PYTORCH = Framework("tanh", "after_first", "hidden", "epoch", decoupled=True, smoothing=0.99, epsilon=1e-8)


@dataclass(frozen=True)
class Task:
    """One kind of data and target.

    Attributes:
        metric: one of `METRICS`, which is reported and decides which epoch is best.
        outputs: K, number of outputs; 1 for two classes, which is the logit of class 1.
        framework: implementation that the paper's runs used.
        per_step: whether there is a target at each sample; otherwise the last state is read.
        has_time: whether intervals matter; a network without a notion of time gets them as an additional input.
        has_masks: whether samples are [values ; mask] of equal size.
        words: size of the vocabulary, if samples are word numbers.
        perfect: value of the validation metric at which a seed stops after some epochs; None for never.
        patience: number of epochs without a better validation metric after which a seed stops, if the epoch is chosen
            by validation; 0 for never.
        least_rate: learning rate below which a seed with an exponential schedule stops once validation no longer
            improves, if the epoch is chosen by validation; patience does not count before. None for never.

    """

    metric: str
    outputs: int
    framework: Framework
    per_step: bool = False
    has_time: bool = True
    has_masks: bool = False
    words: int | None = None
    perfect: float | None = None
    patience: int = 0
    least_rate: float | None = None

    def worthwhile(self, epochs: int, rate: float, decay: float | None) -> int:
        """Return the number of epochs until the learning rate of a schedule has fallen to `least_rate`.

        Args:
            epochs: number of epochs of the schedule.
            rate: initial learning rate.
            decay: factor of the rate per epoch; None if the schedule is not exponential.

        """
        if self.least_rate is None or decay is None or decay >= 1:
            return epochs
        return max(1, min(epochs, math.ceil(math.log(self.least_rate / rate) / math.log(decay))))

    def loss(self, output: Tensor, batch: Sequences, class_weight: float | None) -> Loss:
        """Return the loss of outputs (B, K), or (B, T, K) at each sample.

        Args:
            output: outputs of the network.
            batch: batch that they were computed from.
            class_weight: weight of class 1, where class 0 has 1; None if both have 1.

        """
        if not self.per_step:
            weights = None if class_weight is None else (1.0, class_weight)
            return cross_entropy(self._logits(output), batch.y, weights)
        inside = torch.arange(output.shape[1]) < batch.lengths.unsqueeze(1)
        return squared_error(output, batch.y, inside.unsqueeze(-1).expand_as(output))

    def prediction(self, output: Tensor) -> Tensor:
        """Return predictions for the metric: probabilities (B, C), or the values of a sequence (B, T·K)."""
        return output.flatten(1) if self.per_step else self._logits(output).softmax(-1)

    def score(self, target: Any, prediction: Any) -> float:
        """Return the metric."""
        return METRICS[self.metric](target, prediction)

    def target(self, part: Sequences) -> Tensor:
        """Return the targets for the metric: labels (N,), or values (N, T·K)."""
        if self.per_step and int(part.lengths.min()) < part.dt.shape[1]:
            raise ValueError("the score of each sequence needs sequences of one length; cut windows without a rest.")
        return part.y.flatten(1) if self.per_step else part.y

    def _logits(self, output: Tensor) -> Tensor:
        """Return the logits of all classes; one logit z becomes (0, z), for which softmax gives σ(z)."""
        return torch.cat([torch.zeros_like(output), output], dim=-1) if self.outputs == 1 else output
