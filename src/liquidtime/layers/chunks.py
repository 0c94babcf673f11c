"""A long series as chunks of time side by side, for networks that forget: nearly the same result in less time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from liquidtime._types import HiddenState
from liquidtime.layers.time import Interval, intervals

if TYPE_CHECKING:
    from liquidtime.layers.recurrent import Recurrent

FIRST = 64  # steps before two paths are first compared
ROWS = 8  # rows per thread that "auto" aims at: more rows make a scan hardly faster
SHORTEST = 256  # smallest number of steps in a chunk that "auto" makes
PART = 4  # the paths of a chunk must meet within its length divided by this


class ChunkedRun(NamedTuple):
    """Result of a run in chunks.

    Attributes:
        y: (B, T, output_size) the outputs.
        h: the last state, as the layer returns it.
        gap: the largest difference of any number in the state where a chunk was considered to have met the true path;
            after falling back to a plain run, the difference that was too large; 0 without chunks.
        chunks: number of chunks; 1 means a plain run, including one after falling back.
        steps: number of steps of the layer that were computed per series; T without chunks.

    """

    y: Tensor
    h: HiddenState
    gap: float
    chunks: int
    steps: int


def run_in_chunks(
    layer: Recurrent,
    x: Tensor,
    h0: HiddenState | None = None,
    dt: Interval = None,
    *,
    chunks: int | Literal["auto"] = "auto",
    tolerance: float = 1e-6,
) -> ChunkedRun:
    """Run over long series without gradients, with pieces of time as rows of a batch; see `Recurrent.run_in_chunks`."""
    if not isinstance(x, Tensor) or x.dim() != 3:
        got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"`x` must have shape (B, T, D) to run in chunks; got {got}.")
    if layer.bidirectional:
        raise ValueError("a run in chunks needs a layer that only runs forward; this one is bidirectional.")
    if any(isinstance(part, nn.Dropout) and part.training and part.p for part in layer.modules()):
        raise ValueError("a run in chunks is for inference; call `eval()` first, as this layer has dropout.")
    if chunks != "auto" and (isinstance(chunks, bool) or not isinstance(chunks, int) or chunks < 1):
        raise ValueError(f'`chunks` must be "auto" or a whole number, at least 1; got {chunks!r}.')
    if not tolerance >= 0:
        raise ValueError(f"`tolerance` must be at least 0; got {tolerance!r}.")
    with torch.no_grad():
        x = x if layer.batch_first else x.transpose(0, 1)
        full_dt = intervals(dt, x, batch_first=layer.batch_first)
        B, T, _ = x.shape
        wanted = min(ROWS * torch.get_num_threads() // max(B, 1), T // SHORTEST) if chunks == "auto" else chunks
        count = max(1, min(wanted, T // (PART * FIRST)))
        run = _Run(layer, x, h0, full_dt, count, tolerance) if count > 1 and B else None
        done = None if run is None else run.result()
        if done is None:
            y, h = _forward(layer, x, h0, full_dt)
            gap, steps = (0.0, 0) if run is None else (run.gap, run.steps)
            done = ChunkedRun(y, h, gap, 1, steps + T)
        return done if layer.batch_first else done._replace(y=done.y.transpose(0, 1))


def _forward(layer: Recurrent, x: Tensor, h: HiddenState | None, dt: Tensor) -> tuple[Tensor, HiddenState]:
    """Run the layer over (B, T, D) in either order of axes."""
    if layer.batch_first:
        y, after = layer(x, h, dt)
        return y, after
    y, after = layer(x.transpose(0, 1), h, dt.transpose(0, 1))
    return y.transpose(0, 1), after


class _Run:
    """Runs all chunks once from separate initial states, then from the end of the previous chunk until the paths meet.

    Every chunk except the first starts from the initial state of the layer. A network that forgets still reaches the
    true path: after some steps the state differs from that of the true path by at most `tolerance`, and so do the later
    steps, nearly. If the paths of one chunk do not meet in time, `result` is None.
    """

    def __init__(
        self, layer: Recurrent, x: Tensor, h0: HiddenState | None, dt: Tensor, count: int, tolerance: float
    ) -> None:
        B, T, D = x.shape
        length = T // count
        self.layer, self.tolerance, self.count, self.length = layer, tolerance, count, length
        self.x, self.dt = x, dt
        self.rows = x[:, : count * length].reshape(B * count, length, D)  # row b·count + p
        self.row_dt = dt[:, : count * length].reshape(B * count, length)
        self.first = torch.arange(B, device=x.device) * count
        states = [cell.initial_state(self.rows) for cell in layer._cells()]
        self.states = [torch.stack(part) for part in zip(*states, strict=True)]
        if h0 is not None:
            parts = _parts(h0)
            needed = [part[:, :B].shape for part in self.states]
            if [part.shape for part in parts] != needed:
                raise ValueError(f"`h0` must have the shapes that this layer returns, {[*map(tuple, needed)]}.")
            for part, own in zip(self.states, parts, strict=True):
                part[:, self.first] = own
        self.gap, self.steps = 0.0, 0

    def result(self) -> ChunkedRun | None:
        marks = [0]
        while marks[-1] < self.length // PART:
            marks.append(min(max(FIRST, 2 * marks[-1]), self.length // PART))
        y = self.rows.new_empty(len(self.rows), self.length, self.layer.output_size)
        at_marks, states = [], self.states
        for begin, end in zip(marks, [*marks[1:], self.length], strict=True):
            y[:, begin:end], states = self._advance(slice(None), states, begin, end)
            at_marks.append(states)
        ends = at_marks.pop()
        active = torch.arange(len(self.rows), device=y.device)
        active = active[active % self.count != 0]
        states = [part[:, active - 1] for part in ends]
        for begin, end, before in zip(marks, marks[1:], at_marks, strict=False):
            y[active, begin:end], states = self._advance(active, states, begin, end)
            pairs = zip(states, before, strict=True)
            gaps = torch.stack([(new - old[:, active]).abs().amax(dim=(0, 2)) for new, old in pairs]).amax(dim=0)
            met = gaps <= self.tolerance  # False where they are NaN
            if bool(met.any()):
                self.gap = max(self.gap, float(gaps[met].max()))
            active, states = active[~met], [part[:, ~met] for part in states]
            if not len(active):
                return self._joined(y, ends)
        self.gap = float(gaps.max())
        return None

    def _advance(self, rows: Any, states: list[Tensor], begin: int, end: int) -> tuple[Tensor, list[Tensor]]:
        h = tuple(part.contiguous() for part in states)
        x, dt = self.rows[rows, begin:end], self.row_dt[rows, begin:end]
        y, after = _forward(self.layer, x, h[0] if len(h) == 1 else h, dt)
        self.steps += (end - begin) * x.shape[0] // max(len(self.first), 1)
        return y, _parts(after)

    def _joined(self, y: Tensor, ends: list[Tensor]) -> ChunkedRun:
        """Return all chunks of a series one after another, followed by the samples left over after the last."""
        B, T, _ = self.x.shape
        done = self.count * self.length
        whole, last = y.reshape(B, done, -1), tuple(part[:, self.first + self.count - 1] for part in ends)
        h: HiddenState = last[0] if len(last) == 1 else last
        if done < T:
            rest, h = _forward(self.layer, self.x[:, done:], h, self.dt[:, done:])
            whole, self.steps = torch.cat([whole, rest], dim=1), self.steps + T - done
        return ChunkedRun(whole, h, self.gap, self.count, self.steps)


def _parts(h: HiddenState) -> list[Tensor]:
    return [h] if isinstance(h, Tensor) else list(h)
