"""The base of the networks of this module tree, with the interface of `ncps.torch`."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from liquidtime._checks import check_width
from liquidtime._types import State
from liquidtime.cells import Cell, MixedMemory
from liquidtime.compat.ncps.torch.timespans import sequence_intervals
from liquidtime.compat.ncps.torch.wrapped_cell import WrappedCell
from liquidtime.errors import wrong_shape

Hidden = Tensor | tuple[Tensor, Tensor]


class SequenceNetwork(nn.Module):
    """A cell over a sequence, called like the networks of `ncps.torch`.

    Args:
        rnn_cell: cell that takes the steps.
        return_sequences: whether to return the outputs of all samples or only of the last one.
        batch_first: whether the input is (B, T, D) or (T, B, D).
        mixed_memory: whether to add the memory of an LSTM to the cell.

    """

    def __init__(self, rnn_cell: WrappedCell, return_sequences: bool, batch_first: bool, mixed_memory: bool) -> None:
        super().__init__()
        self.return_sequences, self.batch_first, self.use_mixed = return_sequences, batch_first, mixed_memory
        self.rnn_cell = rnn_cell
        running: Cell = rnn_cell.cell
        if mixed_memory:
            running = MixedMemory(rnn_cell.cell, "hidden")
            self.lstm = running.lstm
            nn.init.uniform_(self.lstm.input_map.bias, -0.1, 0.1)
        # In a tuple, because its parts are registered as `rnn_cell` and `lstm` already.
        self._running = (running,)

    def read_out(self, y: Tensor) -> Tensor:
        """Return the output of the network from that of the cell."""
        return y

    def forward(
        self, input: Tensor, hx: Hidden | None = None, timespans: Tensor | float | None = None
    ) -> tuple[Tensor, Hidden]:
        """Run over whole sequences.

        Args:
            input: (B, T, D), or (T, B, D) with `batch_first=False`, or (T, D) for one series.
            hx: (B, H) initial state, (H,) for one series; with mixed memory a pair (h, c) of such tensors.
            timespans: time since the previous sample of the same series: None (= 1), a number, (T,), (B, T) or
                (B, T, 1), batch second with `batch_first=False`. Each row has its own.

        Returns:
            The outputs, (B, T, ·) or (T, B, ·), or (B, ·) without `return_sequences`; and the last state, in the shape
            of `hx`.

        """
        if input.dim() not in (2, 3):
            raise ValueError(f"`input` must have shape (B, T, D), (T, B, D) or (T, D); got {tuple(input.shape)}.")
        batched = input.dim() == 3
        batch = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch)
            timespans = timespans.unsqueeze(batch) if isinstance(timespans, Tensor) and timespans.dim() else timespans
        x = input if self.batch_first else input.transpose(0, 1)
        (running,) = self._running
        check_width("input", x, running.input_size, "(B, T, D)")
        if not self.return_sequences and x.shape[1] == 0:
            raise ValueError("`input` must have at least one sample, because the last output is returned; got T = 0.")
        dt = sequence_intervals(timespans, x, self.batch_first)
        y, state = running.scan(x, self._state(hx, x, batched), dt)
        if not self.return_sequences:
            y = y[:, -1]
        elif not self.batch_first:
            y = y.transpose(0, 1)
        y = self.read_out(y)
        if not batched:
            y, state = y.squeeze(batch), tuple(part.squeeze(0) for part in state)
        return y, cast(tuple[Tensor, Tensor], state) if self.use_mixed else state[0]

    def _state(self, hx: Hidden | None, x: Tensor, batched: bool) -> State:
        (running,) = self._running
        if hx is None:
            return running.initial_state(x)
        if isinstance(hx, Tensor) == self.use_mixed:
            needed = "a pair (h, c) of tensors with" if self.use_mixed else "a tensor without"
            raise TypeError(f"`hx` must be {needed} mixed_memory; got {type(hx).__name__}.")
        parts = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        if len(parts) != len(running.state_sizes):
            raise ValueError(f"`hx` must be a pair (h, c); got {len(parts)} parts.")
        axes, needed_shape = ("(B, H)", [x.shape[0]]) if batched else ("(H,)", [])
        for part, size in zip(parts, running.state_sizes, strict=True):
            if list(part.shape) != [*needed_shape, size]:
                raise wrong_shape("hx", axes, [*needed_shape, size], part.shape, "Pass the returned state.")
        return parts if batched else tuple(part.unsqueeze(0) for part in parts)
