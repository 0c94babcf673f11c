"""The interface of a cell, which is one time step of a network, and the plain loop that runs it over a sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._types import State
from liquidtime.cells.plain import note_methods
from liquidtime.ops.storage import check_inputs_stored, check_module_stored


class Cell(nn.Module, ABC):
    """One time step of a recurrent network.

        y_k, state_k = cell(x_k, state_{k-1}, dt_k)

    The state is a tuple of (B, ·) tensors with the widths `state_sizes`; its first part is the hidden state h. Rows of
    a batch never mix. `uses_dt` says whether the time since the previous sample has any effect.
    """

    uses_dt: ClassVar[bool] = True
    input_size: int
    output_size: int
    state_sizes: tuple[int, ...]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        note_methods(cls)

    @property
    def hidden_size(self) -> int:
        """The width H of the hidden state, the first part of the state."""
        return self.state_sizes[0]

    @abstractmethod
    def forward(self, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
        """Take one step.

        Args:
            x: (B, D) the sample.
            state: a tuple of (B, ·) tensors, as returned by `initial_state`.
            dt: (B,) time since the previous sample, at least 0.

        Returns:
            (B, output_size) the output, and the new state.

        """

    def initial_state(self, x: Tensor) -> State:
        """Return the zero state for a batch x (B, ...), on its device and in its type."""
        return tuple(x.new_zeros(x.shape[0], size) for size in self.state_sizes)

    def scan(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, State]:
        """Run the cell over a sequence; this loop is the definition of every faster way.

        Args:
            x: (B, T, D) the samples.
            state: a tuple of (B, ·) tensors.
            dt: (B, T) time since the previous sample, at least 0.
            lengths: (B,) number of samples of each row. Past the end of a row the state does not change and the output
                is 0, whatever values are there, including NaN.

        Returns:
            (B, T, output_size) the outputs, and the state after each row's last sample.

        """
        self.check_stored(x, state, dt, lengths)
        return self._loop(_as_given, self, x, state, dt, lengths)

    def check_stored(self, x: Tensor, state: State, dt: Tensor, lengths: Tensor | None) -> None:
        """Refuse arguments of `scan`, parameters and buffers whose memory was freed, before anything reads them.

        Raises:
            ValueError: the memory of a tensor was freed; the message names the first such tensor.

        """
        check_inputs_stored(x=x, state=state, dt=dt, lengths=lengths)
        check_module_stored(self)

    def _loop(
        self,
        project: Callable[[Tensor, Tensor], Tensor],
        advance: Callable[[Tensor, State, Tensor], tuple[Tensor, State]],
        x: Tensor,
        state: State,
        dt: Tensor,
        lengths: Tensor | None,
    ) -> tuple[Tensor, State]:
        """Run over a sequence: `project` all samples at once, then `advance` one by one; see `scan`.

        Args:
            project: maps x (B, T, D) and dt (B, T) to the inputs of the steps, (B, T, ·).
            advance: one step, which maps (B, ·), the state and dt (B,) to the output and the new state.
            x: (B, T, D).
            state: a tuple of (B, ·) tensors.
            dt: (B, T).
            lengths: (B,), or None.

        """
        T = x.shape[1]
        inside = None
        if lengths is not None:
            inside = torch.arange(T, device=x.device) < lengths.unsqueeze(1)  # (B, T)
            x = x.masked_fill(~inside.unsqueeze(-1), 0.0)
            dt = dt.masked_fill(~inside, 0.0)
        if T == 0:
            return x.new_zeros(x.shape[0], 0, self.output_size), state
        outputs = []
        for k, (fed, gap) in enumerate(zip(project(x, dt).unbind(1), dt.unbind(1), strict=True)):
            y, after = advance(fed, state, gap)
            if inside is None:
                state = after
            else:
                here = inside[:, k].unsqueeze(-1)  # (B, 1)
                y = y.masked_fill(~here, 0.0)
                state = tuple(torch.where(here, new, old) for new, old in zip(after, state, strict=True))
            outputs.append(y)
        return torch.stack(outputs, dim=1), state


def _as_given(x: Tensor, dt: Tensor) -> Tensor:
    return x
