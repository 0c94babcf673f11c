"""A series whose samples arrive one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from liquidtime.data import History, SeriesEncoder
from liquidtime.estimators.network.network import NetworkState, SeriesNetwork


class LiveSeries:
    """The states of an ensemble for one series, which give after each sample what a whole batch gives for the prefix.

    Samples at one time, or in one bin, are one step: while it is open the states before it are kept, and each
    further sample takes the step again.

    Args:
        encoder: fitted.
        networks: the members.
        static: the series' static features by name.
    """

    def __init__(
        self, encoder: SeriesEncoder, networks: Sequence[SeriesNetwork], static: Mapping[str, Any] | None = None
    ) -> None:
        self._networks = networks
        self._stream = encoder.stream(static)
        self._history = History(encoder).stream()
        self._static = torch.from_numpy(self._stream.static).unsqueeze(0)
        self.time: float | None = None
        """When the newest step was, in the encoder's unit; None before the first."""
        self._x, self._rows = torch.zeros(1, encoder.input_size_), torch.zeros(1, len(History(encoder).names))
        self._before: list[NetworkState | None] = [None] * len(networks)
        self._after: list[NetworkState | None] = [None] * len(networks)

    def update(self, t: Any, values: Any) -> Tensor:
        """Take a sample and return (M, K), the members' outputs from all samples so far.

        Args:
            t: its time, not before that of the sample before.
            values: a mapping from channels to values, or (C,); NaN, None and channels left out are not observed.
        """
        x, dt = self._stream.update(t, values)
        history = torch.from_numpy(self._history.update(self._stream.now, self._stream.revises)).unsqueeze(0)
        if not self._stream.revises:
            self._before = self._after
        row, elapsed = torch.from_numpy(x).unsqueeze(0), torch.tensor([float(dt)])
        with torch.inference_mode():
            steps = [
                network.step(row, state, elapsed, self._static, history)
                for network, state in zip(self._networks, self._before, strict=True)
            ]
        self._after = [state for _, state in steps]
        self.time, self._x, self._rows = self._stream.time, row, history
        return torch.cat([out for out, _ in steps])

    def carry(self, carried: Callable[[Tensor, Tensor], Tensor], elapsed: Tensor) -> tuple[Tensor, Tensor]:
        """Carry the states over gaps in which nothing is observed; the series itself stays where it is.

        Args:
            carried: maps the newest input (Q, D) and the gaps (Q,) to the inputs after them.
            elapsed: (Q,) the gaps, scaled.

        Returns:
            (M, Q, K) the members' outputs, and (Q, D) the inputs.

        """
        Q = len(elapsed)
        x = carried(self._x.expand(Q, -1), elapsed)
        static, history = self._static.expand(Q, -1), self._rows.expand(Q, -1)
        with torch.inference_mode():
            outs = [
                network.step(x, None if state is None else state.repeat(Q), elapsed, static, history)[0]
                for network, state in zip(self._networks, self._after, strict=True)
            ]
        return torch.stack(outs), x
