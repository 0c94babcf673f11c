"""A series whose samples arrive one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data.encoding import Clock, StepState, read_sample, read_static, refuse_overflow
from liquidtime.estimators.live.step import ScaleState, ScaleStep


class Memory(Protocol):
    """The memory of a live series besides the networks' states; adding a sample returns a new one."""

    def add(self, samples: StepState) -> Memory:
        """Return the memory after one more sample, from the encoding of the first scale."""
        ...


class LiveState(NamedTuple):
    """The state of a live series.

    Args:
        clock: how its times are told.
        scales: one state for each scale of the ensemble.
        outputs: (M, K) of the members after the newest sample; None before the first.
        memory: what the estimator remembers besides.
    """

    clock: Clock
    scales: tuple[ScaleState, ...]
    outputs: Tensor | None = None
    memory: Memory | None = None


class LiveSeries:
    """One live series of an ensemble; after each sample, its outputs equal those of a batch of the series so far.

    A sample is accepted completely or not at all: every scale and every member computes from the old state, which is
    replaced by the new one in a single assignment at the end. Samples from several threads are handled in sequence.

    Args:
        steps: of each scale, as `ScaleStep.of` returns them; series of one model share them.
        static: the series' static features by name.
        memory: what else is remembered of the series, before its first sample.
    """

    def __init__(
        self,
        steps: Sequence[ScaleStep],
        static: Mapping[str, Any] | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._steps = tuple(steps)
        features = read_static(self._steps[0].encoder, static)[None]
        self._static = tuple(torch.from_numpy(step.encoder.encode_static(features)) for step in self._steps)
        self._state = LiveState(Clock(), tuple(step.start(1) for step in self._steps), memory=memory)
        self._lock = threading.Lock()

    def update(self, t: Any, values: Any) -> Tensor:
        """Take a sample and return (M, K) the members' outputs from all samples so far, scale after scale.

        Args:
            t: its time, of the kind of the times before and not before the newest of them.
            values: values by channel, or (C,); NaN, None and channels that are left out are not observed.

        Raises:
            TypeError: a time or a value that is no number.
            ValueError: a sample that does not fit, or after which an output is not finite. Nothing was taken.

        """
        with self._lock:
            clock, scales, _, memory = self._state
            clock, time, row = read_sample(self._steps[0].encoder, clock, scales[0].samples, t, values)
            encoded = [step.encode(state, time, row) for step, state in zip(self._steps, scales, strict=True)]
            for step, parts in zip(self._steps, encoded, strict=True):
                refuse_overflow(step.encoder, *parts, t)
            taken = [
                step.advance(state, *parts, static)
                for step, state, parts, static in zip(self._steps, scales, encoded, self._static, strict=True)
            ]
            outputs = torch.cat([output[:, 0] for _, output in taken])
            if not bool(torch.isfinite(outputs).all()):
                raise ValueError(
                    f"the outputs after the sample at t = {t!r} are not finite, so it was refused. Check its values: "
                    "if they are right, the weights of the model are too large."
                )
            states = tuple(state for state, _ in taken)
            memory = None if memory is None else memory.add(states[0].samples)
            self._state = LiveState(clock, states, outputs, memory)
            return outputs

    def newest(self) -> tuple[float, npt.NDArray[np.float32]]:
        """Return the time of the newest sample, and (C,) what was observed at that time, NaN = not observed."""
        samples = self._state.scales[0].samples
        return float(samples.time[0]), samples.values[0]

    @property
    def static(self) -> Tensor:
        """(1, F) the static features, as the first encoder encodes them."""
        return self._static[0]

    @property
    def state(self) -> LiveState:
        """The state of the series."""
        return self._state

    @property
    def statics(self) -> tuple[Tensor, ...]:
        """(1, F) the static features, as each encoder encodes them."""
        return self._static

    @property
    def outputs_shape(self) -> tuple[int, int]:
        """(M, K), shape of the members' outputs."""
        networks = [network for step in self._steps for network in step.networks]
        return len(networks), networks[0].read_out.out_features

    def restore(self, statics: tuple[Tensor, ...], state: LiveState) -> None:
        """Set the series to `statics` and `state` of another series of the same model."""
        with self._lock:
            self._static, self._state = statics, state

    def carry(self, input_after: Callable[[Tensor, Tensor], Tensor], gaps: Tensor) -> tuple[Tensor, Tensor]:
        """Carry the states of the first scale over gaps without observations; the series itself does not change.

        Args:
            input_after: maps the newest input (Q, D) and the gaps (Q,) to the inputs after them.
            gaps: (Q,) scaled.

        Returns:
            (M, Q, K) the members' outputs, and (Q, D) the inputs.

        """
        step, state, static = self._steps[0], self._state.scales[0], self._static[0]
        x = input_after(step.input(state).expand(len(gaps), -1), gaps)
        return step.carry(state, x, gaps, static), x

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())
