"""One more sample of each of B series, for the members of an ensemble at one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data.encoding import SampleStep, SeriesEncoder, Step, StepState
from liquidtime.estimators.live.read_out import ReadOuts
from liquidtime.estimators.network import NetworkState, SeriesNetwork


class ScaleState(NamedTuple):
    """The state of B series between samples at one scale.

    A step is open while more samples may belong to it, and is repeated with each of them from the state before it.

    Args:
        samples: of the encoding.
        before: of each member, before the open step.
        after: of each member, after it as it stands.
    """

    samples: StepState
    before: tuple[NetworkState, ...]
    after: tuple[NetworkState, ...]

    def head(self, B: int) -> ScaleState:
        """Return the state of the first B series."""
        rows = torch.arange(B)
        before, after = (tuple(state.at(rows) for state in states) for states in (self.before, self.after))
        return ScaleState(self.samples.head(B), before, after)


class ScaleStep:
    """The members that read by one encoder, one sample at a time; pure functions of a `ScaleState`.

    After each sample the outputs are those of a batch of the series up to it: `Prepared` and `SeriesNetwork.forward`.

    Args:
        encoder: fitted.
        networks: the M members that read by it.
    """

    def __init__(self, encoder: SeriesEncoder, networks: Sequence[SeriesNetwork]) -> None:
        self.encoder = encoder
        self.networks = tuple(networks)
        self._encode: SampleStep = encoder.sample_step
        self._read_outs = ReadOuts(self.networks)

    def start(self, B: int) -> ScaleState:
        """Return the state of B series before their first sample."""
        with torch.inference_mode():
            states = tuple(network.start(B) for network in self.networks)
        return ScaleState(self._encode.start(B), states, states)

    def encode(
        self, state: ScaleState, times: npt.NDArray[np.float64], values: npt.NDArray[np.float32]
    ) -> tuple[StepState, Step]:
        """Return the encoding after one more sample of each series, and the open step.

        Args:
            state: before the samples.
            times: (B,), none before the series' newest sample.
            values: (B, C), NaN = not observed.
        """
        samples = self._encode.advance(state.samples, times, values)
        return samples, self._encode.read(samples)

    def advance(self, state: ScaleState, samples: StepState, step: Step, static: Tensor) -> tuple[ScaleState, Tensor]:
        """Process the result of `encode`.

        Args:
            state: before the samples; it is left as it is.
            samples: the encoding after them.
            step: the open step.
            static: (B, F) encoded static features.

        Returns:
            the state after the samples, and (M, B, K) the members' outputs.

        """
        opens = state.samples.step != samples.step
        x, dt, history = (torch.from_numpy(part) for part in step)
        with torch.inference_mode():
            before = state.after if opens.all() else state.before
            if opens.any() and not opens.all():
                chosen = torch.from_numpy(opens)
                before = tuple(new.where(chosen, old) for new, old in zip(state.after, state.before, strict=True))
            taken = [network.advance(x, start, dt) for network, start in zip(self.networks, before, strict=True)]
            y, after = [own for own, _ in taken], tuple(state for _, state in taken)
            outputs = self._read_outs(y, after, x, history, static)
        return ScaleState(samples, before, after), outputs

    def carry(self, state: ScaleState, x: Tensor, gaps: Tensor, static: Tensor) -> Tensor:
        """Carry one series over separate gaps without observations.

        Args:
            state: of the series, B = 1.
            x: (Q, D) the inputs after the gaps.
            gaps: (Q,) scaled.
            static: (1, F).

        Returns:
            (M, Q, K) the members' outputs.

        """
        Q = len(gaps)
        history = torch.from_numpy(self._encode.read(state.samples).history).expand(Q, -1)
        with torch.inference_mode():
            return torch.stack(
                [
                    network.step(x, after.repeat(Q), gaps, static.expand(Q, -1), history)[0]
                    for network, after in zip(self.networks, state.after, strict=True)
                ]
            )

    @staticmethod
    def of(encoders: Sequence[SeriesEncoder], networks: Sequence[SeriesNetwork]) -> tuple[ScaleStep, ...]:
        """Return one for each encoder; member m reads by the one at m modulo their number."""
        return tuple(ScaleStep(encoder, networks[e :: len(encoders)]) for e, encoder in enumerate(encoders))

    def input(self, state: ScaleState) -> Tensor:
        """Return (B, D) the input of the open step."""
        return torch.from_numpy(self._encode.read(state.samples).x)
