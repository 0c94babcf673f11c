"""What a model has to know of an experiment: what comes in, what goes out, and how it is judged."""

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
    """What differs between the two public implementations and is in no table of the paper.

    Attributes:
        head_activation: of a CfC's heads.
        dropout_placement: of the backbone.
        memory: the structure of the mixed memory.
        rate_every: whether the learning rate falls at each step or each epoch.
        decoupled: whether `weight_decay` is AdamW's; else it is an L2 penalty on backbone and heads.
        smoothing: share of the past in RMSprop's mean of squared gradients.
        epsilon: added to the root of RMSprop's mean.

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
    """One kind of data and question.

    Attributes:
        metric: of `METRICS`, what is reported and what chooses the epoch.
        outputs: K, width of the read-out; 1 for two classes stands for the logit of class 1.
        framework: whose habits the paper's runs had.
        per_step: whether there is a target at each sample; else the last state is read.
        has_time: whether intervals tell anything; a network that knows no time gets them as one more input.
        has_masks: whether samples are [values ; mask], as wide each.
        words: size of the vocabulary where samples are word numbers.
        perfect: the metric at which a seed is stopped once validation has it for some epochs; None = never.
        patience: epochs without a better validation metric after which a seed is stopped, where validation chooses
            the epoch; 0 = never.
        least_rate: what an exponentially falling rate has to come down to for a seed to be stopped, where validation
            chooses the epoch and has ceased to rise; until then patience does not count. None = no such stop.

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
        """Return how many of a schedule's epochs it takes to come down to `least_rate`.

        Args:
            epochs: of the schedule.
            rate: at its start.
            decay: what an epoch leaves of the rate; None where it does not fall so.

        """
        if self.least_rate is None or decay is None or decay >= 1:
            return epochs
        return max(1, min(epochs, math.ceil(math.log(self.least_rate / rate) / math.log(decay))))

    def loss(self, output: Tensor, batch: Sequences, class_weight: float | None) -> Loss:
        """Return the loss of outputs (B, K), or (B, T, K) at each sample.

        Args:
            output: of the network.
            batch: what it was computed from.
            class_weight: of class 1, class 0 having 1; None = both 1.

        """
        if not self.per_step:
            weights = None if class_weight is None else (1.0, class_weight)
            return cross_entropy(self._logits(output), batch.y, weights)
        inside = torch.arange(output.shape[1]) < batch.lengths.unsqueeze(1)
        return squared_error(output, batch.y, inside.unsqueeze(-1).expand_as(output))

    def prediction(self, output: Tensor) -> Tensor:
        """Return what the metric takes: probabilities (B, C), or the values of a sequence (B, T·K)."""
        return output.flatten(1) if self.per_step else self._logits(output).softmax(-1)

    def score(self, target: Any, prediction: Any) -> float:
        """Return the metric."""
        return METRICS[self.metric](target, prediction)

    def target(self, part: Sequences) -> Tensor:
        """Return what predictions are held against: labels (N,), or values (N, T·K)."""
        if self.per_step and int(part.lengths.min()) < part.dt.shape[1]:
            raise ValueError("the score of each sequence needs sequences of one length; cut windows without a rest.")
        return part.y.flatten(1) if self.per_step else part.y

    def _logits(self, output: Tensor) -> Tensor:
        """One logit z is the pair (0, z): softmax gives σ(z), and cross entropy the binary one."""
        return torch.cat([torch.zeros_like(output), output], dim=-1) if self.outputs == 1 else output
