"""Runs any cell over sequences: stacked, in both directions, ragged, packed, or one sample at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from liquidtime._checks import check_lengths, check_rate, check_size, check_width, named_arguments
from liquidtime._published import Published
from liquidtime._types import HiddenState, State
from liquidtime.cells import Cell
from liquidtime.cells.plain import note_methods
from liquidtime.errors import wrong_shape
from liquidtime.layers.chunks import ChunkedRun, run_in_chunks
from liquidtime.layers.quick import Quick
from liquidtime.layers.stepper import Stepper
from liquidtime.layers.time import Interval, interval, intervals, reverse, reverse_intervals
from liquidtime.ops.storage import check_inputs_stored, check_module_stored, check_stored_before_gradients


class Recurrent(Published, nn.Module):
    """A layer that runs any cell over irregularly sampled sequences, used like `nn.LSTM` with time as well.

        y, h = layer(x, h0, dt=dt, lengths=lengths)
        y_t, h = layer.step(x_t, h, dt_t)

    Conventions are those of `nn.LSTM`: y holds the last layer's output at every sample; h has one row for each
    layer and direction, in the order layer 0 forward, layer 0 backward, layer 1 forward, …; a state with several
    parts is a tuple of such tensors. Differences from `nn.LSTM`: `batch_first` is True by default, as is usual for
    data with time stamps; the lengths of a ragged batch are passed as `lengths` (a PackedSequence works too); and
    `proj_size` projects only the output, so that the state keeps its width.

    Args:
        make_cell: function from the number of inputs to a cell; it is called for each layer and direction.
        input_size: D, the number of inputs.
        num_layers: number of layers, each reading the outputs of the one below.
        bidirectional: whether each layer also runs backwards in time; outputs are concatenated, forward first. The
            interval between two samples is the same in both directions.
        batch_first: whether x is (B, T, D) instead of (T, B, D).
        dropout: dropout rate between layers, in training.
        proj_size: width of a linear projection of the last layer's output; None for no projection.

    """

    @named_arguments
    def __init__(
        self,
        make_cell: Callable[[int], Cell],
        input_size: int,
        *,
        num_layers: int = 1,
        bidirectional: bool = False,
        batch_first: bool = True,
        dropout: float = 0.0,
        proj_size: int | None = None,
    ) -> None:
        super().__init__()
        self.input_size = check_size("input_size", input_size)
        self.num_layers = check_size("num_layers", num_layers)
        self.bidirectional = bool(bidirectional)
        self.batch_first = bool(batch_first)
        self.dropout = nn.Dropout(check_rate("dropout", dropout))
        if dropout and num_layers == 1:
            raise ValueError(f"`dropout` acts between layers, and there is only one; got {dropout}. Set num_layers.")
        self.cells = nn.ModuleList()
        width = self.input_size
        for _ in range(self.num_layers):
            for _ in range(self.num_directions):
                self.cells.append(make_cell(width))
            width = self._cell(0).output_size * self.num_directions
        self.projection = None if proj_size is None else nn.Linear(width, check_size("proj_size", proj_size))
        self._quick = Quick()
        self.output_size = width if self.projection is None else self.projection.out_features

    @property
    def num_directions(self) -> int:
        """2 if the layer is bidirectional, otherwise 1."""
        return 2 if self.bidirectional else 1

    @property
    def hidden_size(self) -> int:
        """H, the width of the hidden state."""
        return self._cell(0).hidden_size

    def _cell(self, index: int) -> Cell:
        return cast(Cell, self.cells[index])

    def _cells(self) -> list[Cell]:
        return cast(list[Cell], list(self.cells))

    def forward(
        self,
        x: Tensor | PackedSequence,
        h0: HiddenState | None = None,
        dt: Interval = None,
        lengths: Tensor | Sequence[int] | None = None,
    ) -> tuple[Any, HiddenState]:
        """Run over whole sequences.

        Args:
            x: (B, T, D), or (T, B, D) with `batch_first=False`, or (T, D) for one series, or a PackedSequence.
            h0: initial state, in the form that this method returns; None for zeros.
            dt: time since the previous sample of the same series: None (= 1), a number, (T,), (B, T) or
                (B, T, 1) (batch second with `batch_first=False`), or packed like x. Finite and at least 0.
            lengths: (B,) number of samples in each series; what follows is padding and has no effect.

        Returns:
            y, shaped like x but `output_size` wide, 0 in the padding; and the state after each series' last
            sample: (num_layers·directions, B, H), without B for one series, a tuple where a cell has several parts.

        Raises:
            ValueError: a shape that does not fit, an interval that is negative, NaN or infinite, a length beyond T.
            TypeError: something that is not a tensor.

        """
        if lengths is None and self.num_layers == 1 and self.batch_first:
            done = self._quick.scan(self, x, h0, dt)
            if done is not None:
                return done
        check_inputs_stored(x=_numbers(x), h0=h0, dt=_numbers(dt), lengths=lengths)
        if isinstance(x, PackedSequence):
            return self._packed(x, h0, dt, lengths)
        if not isinstance(x, Tensor):
            raise TypeError(f"`x` must be a tensor or a PackedSequence; got {type(x).__name__}")
        if x.dim() == 2:
            if lengths is not None:
                raise ValueError("`lengths` are for a batch; `x` is one series (T, D). Cut x to its length.")
            if isinstance(dt, Tensor) and dt.dim() == 2 and dt.shape[-1] == 1:
                dt = dt.squeeze(-1)
            y, state = self._run(x.unsqueeze(0), self._add_batch(h0), intervals(dt, x.unsqueeze(0)), None)
            return y.squeeze(0), _map(lambda part: part.squeeze(1), state)
        if x.dim() != 3:
            axes = "(B, T, D)" if self.batch_first else "(T, B, D)"
            raise ValueError(f"`x` must have shape {axes}, or (T, D) for one series; got {tuple(x.shape)}.")
        x = x if self.batch_first else x.transpose(0, 1)
        counts = None if lengths is None else check_lengths(lengths, x.shape[0], x.shape[1], x.device)
        full_dt = intervals(dt, x, counts, batch_first=self.batch_first)
        y, state = self._run(x, h0, full_dt, counts)
        return y if self.batch_first else y.transpose(0, 1), state

    def step(
        self, x: Tensor, h: HiddenState | None = None, dt: Tensor | float | None = None
    ) -> tuple[Tensor, HiddenState]:
        """Process one sample, with the same result as one run over the whole sequence.

        Args:
            x: (B, D) the sample, or (D,) for one series.
            h: the state, in the form that this method and `forward` return; None for zeros.
            dt: (B,) time since the previous sample, a number, or None (= 1).

        Returns:
            (B, output_size) the output, and the new state.

        """
        if not torch.is_grad_enabled():
            done = self._quick.step(self, x, h, dt)
            if done is not None:
                return done
        check_inputs_stored(x=x, h=h, dt=dt)
        if torch.is_grad_enabled():  # otherwise scans check the cells, which have these parts
            check_module_stored(self)
        if self.bidirectional:
            raise ValueError("`step` needs a layer that only runs forward; this one is bidirectional.")
        if not isinstance(x, Tensor) or x.dim() not in (1, 2):
            got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"`x` must have shape (B, D), or (D,) for one series; got {got}.")
        if x.dim() == 1:
            dt = dt.reshape(1) if isinstance(dt, Tensor) and dt.numel() == 1 else dt
            y, state = self.step(x.unsqueeze(0), self._add_batch(h), dt)
            return y.squeeze(0), _map(lambda part: part.squeeze(1), state)
        check_width("x", x, self.input_size, "(B, D)")
        dt = interval(dt, x)
        cells = self._cells()
        y, states = x, self._split(h, x, cells)
        for index in range(self.num_layers):
            if index:
                y = self.dropout(y)
            y, states[index] = _one_sample(cells[index], y, states[index], dt)
        return self._guarded(self._project(y), _join(states), x, h, dt)

    def stepper(self, batch_size: int = 1) -> Stepper:
        """Return a function for single samples with a copy of the current weights, faster than `step`; see `Stepper`.

        Args:
            batch_size: B, the number of series that are processed side by side.

        """
        return Stepper(self, batch_size)

    def run_in_chunks(
        self,
        x: Tensor,
        h0: HiddenState | None = None,
        dt: Interval = None,
        *,
        chunks: int | Literal["auto"] = "auto",
        tolerance: float = 1e-6,
    ) -> ChunkedRun:
        """Run over long series without gradients, with pieces of time side by side: nearly as accurate, but faster.

        A scan over one series has only one row to work on. This method cuts the series into chunks, which become the
        rows of a batch. Each chunk except the first starts from the initial state; its beginning is then run again from
        the end of the previous chunk, until the two paths meet, which must happen within a quarter of the chunk. If it
        does not, because the network has a longer memory, the whole run is repeated as in `forward`. The library never
        calls this method itself where results must equal those of `forward` exactly.

        Args:
            x: (B, T, D), or (T, B, D) with `batch_first=False`.
            h0: initial state; None for zeros.
            dt: as in `forward`.
            chunks: number of chunks per series; "auto" makes eight rows per thread, of 256 steps or more, or none.
            tolerance: the largest difference of any number in the state at which two paths are considered to have met.
                With 0 all bits must be the same, and so are all later results; otherwise, a network that magnifies
                small differences may enlarge them later.

        Returns:
            y, h as `forward` returns them, the largest `gap` at which paths were considered to have met, and the
            numbers of `chunks` and `steps`.

        Raises:
            ValueError: as in `forward`; or the layer is bidirectional or has active dropout.

        """
        return run_in_chunks(self, x, h0, dt, chunks=chunks, tolerance=tolerance)

    def _run(self, x: Tensor, h0: HiddenState | None, dt: Tensor, lengths: Tensor | None) -> tuple[Tensor, HiddenState]:
        check_width("x", x, self.input_size, "(B, T, D)")
        cells = self._cells()
        states = self._split(h0, x, cells)
        backward_dt = reverse_intervals(dt, lengths) if self.bidirectional else dt
        y = x
        for layer in range(self.num_layers):
            if layer:
                y = self.dropout(y)
            first = layer * self.num_directions
            out, states[first] = cells[first].scan(y, states[first], dt, lengths)
            if self.bidirectional:
                turned = reverse(y, lengths)
                back, states[first + 1] = cells[first + 1].scan(turned, states[first + 1], backward_dt, lengths)
                out = torch.cat([out, reverse(back, lengths)], dim=-1)
            y = out
        y = self._project(y)
        if lengths is not None and self.projection is not None:
            y = y.masked_fill((torch.arange(y.shape[1], device=y.device) >= lengths.unsqueeze(1)).unsqueeze(-1), 0.0)
        return self._guarded(y, _join(states), x, h0, dt)

    def _guarded(
        self, y: Tensor, state: HiddenState, *inputs: Tensor | HiddenState | None
    ) -> tuple[Tensor, HiddenState]:
        """Return y and the state, with gradients that check for freed memory first, unlike PyTorch's own operations."""
        if torch.is_grad_enabled():
            tensors = [part for one in inputs if one is not None for part in _parts(one)]
            check_stored_before_gradients((y, *_parts(state)), self, tensors)
        return y, state

    def _packed(
        self, x: PackedSequence, h0: HiddenState | None, dt: Interval, lengths: object
    ) -> tuple[PackedSequence, HiddenState]:
        if lengths is not None:
            raise ValueError("a PackedSequence already has its lengths; leave out `lengths`.")
        if isinstance(dt, PackedSequence):
            if not torch.equal(dt.batch_sizes, x.batch_sizes):
                raise ValueError("`dt` must be packed with the same lengths and order as `x`.")
            dt = pad_packed_sequence(dt, batch_first=self.batch_first)[0]
        padded, counts = pad_packed_sequence(x, batch_first=self.batch_first)
        y, state = self(padded, h0, dt, counts)
        packed = pack_padded_sequence(y, counts, batch_first=self.batch_first, enforce_sorted=False)
        if x.sorted_indices is None:
            packed = PackedSequence(packed.data, packed.batch_sizes)
        return packed, state

    def _project(self, y: Tensor) -> Tensor:
        if self.projection is None:
            return y
        check_module_stored(self.projection)
        projected: Tensor = self.projection(y)
        return projected

    def _split(self, h: HiddenState | None, x: Tensor, cells: list[Cell]) -> list[State]:
        """Return one state for each cell from the layer's (L, B, ·) tensors."""
        if h is None:
            return [cell.initial_state(x) for cell in cells]
        sizes = cells[0].state_sizes
        parts = (h,) if isinstance(h, Tensor) else tuple(h)
        if len(parts) != len(sizes):
            kind = "a tensor" if len(sizes) == 1 else f"a tuple of {len(sizes)} tensors"
            raise ValueError(f"`h0` must be {kind}, as returned by this layer; got {len(parts)} part(s).")
        for part, size in zip(parts, sizes, strict=True):
            needed = [len(cells), x.shape[0], size]
            if list(part.shape) != needed:
                raise wrong_shape(
                    "h0", "(layers·directions, B, H)", needed, part.shape, "Pass the state that the layer returned."
                )
        return [tuple(part[index] for part in parts) for index in range(len(cells))]

    def _add_batch(self, h: HiddenState | None) -> HiddenState | None:
        if h is None:
            return None
        for part in (h,) if isinstance(h, Tensor) else h:
            if part.dim() != 2:
                raise wrong_shape(
                    "h0",
                    "(layers·directions, H)",
                    [len(self.cells), self.hidden_size],
                    part.shape,
                    "For a single series, there is no axis B.",
                )
        return _map(lambda part: part.unsqueeze(1), h)

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"{self.input_size} -> {self.output_size}, batch_first={self.batch_first}"


note_methods(Recurrent, free=("forward", "step", "stepper", "run_in_chunks"))  # these call the fast path themselves


def _numbers(value: object) -> object:
    return value.data if isinstance(value, PackedSequence) else value


def _one_sample(cell: Cell, x: Tensor, state: State, dt: Tensor) -> tuple[Tensor, State]:
    """Take one step of a cell; without gradients, as a scan of one sample, which may be a single call of a kernel."""
    if torch.is_grad_enabled():
        y, after = cell(x, state, dt)
        return y, after
    ys, after = cell.scan(x.unsqueeze(1), state, dt.unsqueeze(1))
    return ys.squeeze(1), after


def _parts(h: HiddenState) -> tuple[Tensor, ...]:
    return (h,) if isinstance(h, Tensor) else tuple(h)


def _map(function: Callable[[Tensor], Tensor], h: HiddenState) -> HiddenState:
    return function(h) if isinstance(h, Tensor) else tuple(function(part) for part in h)


def _join(states: list[State]) -> HiddenState:
    """Return the layer's (L, B, ·) tensors from one state for each cell."""
    if len(states) == 1:
        parts = tuple(part.unsqueeze(0) for part in states[0])
    else:
        parts = tuple(torch.stack(part) for part in zip(*states, strict=True))
    return parts[0] if len(parts) == 1 else parts
