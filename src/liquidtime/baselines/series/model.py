"""What a model of this package is: used like `layers.Recurrent`, but not made of one step after another."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from liquidtime._checks import check_lengths, check_size, check_width
from liquidtime.baselines.series.parts.batch import SeriesBatch
from liquidtime.layers.time import Interval, intervals


class SequenceModel(nn.Module, ABC):
    """A network over whole series with their own times.

        y, final = model(x, dt=dt, lengths=lengths)

    y is (B, T, output_size), 0 in the padding; final (B, output_size) is y at each series' last sample, 0 for a series
    without samples. A model that reads the whole series before it says anything gives the same output at every sample.

    Attributes:
        causal: whether the output at a sample depends on the samples up to it alone.
        uses_dt: whether time changes anything.
        takes_mask: whether it can tell which values were observed; x is then [values ; mask], D = 2C, unless it was
            made with `mask=False`, where every value counts as observed.

    """

    causal: ClassVar[bool] = False
    uses_dt: ClassVar[bool] = True
    takes_mask: ClassVar[bool] = False

    def __init__(self, input_size: int, output_size: int, *, mask: bool = False) -> None:
        super().__init__()
        self.input_size = check_size("input_size", input_size)
        self.output_size = check_size("output_size", output_size)
        self.mask = bool(mask)
        if self.mask and self.input_size % 2:
            raise ValueError(
                f"`input_size` must be even, because x is [values ; mask]; got {input_size}. "
                "Without a mask pass mask=False."
            )
        self.channels = self.input_size // 2 if self.mask else self.input_size

    def forward(
        self, x: Tensor, *, dt: Interval = None, lengths: Tensor | Sequence[int] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Read whole series.

        Args:
            x: (B, T, D) samples; [values ; mask] for a model that takes a mask.
            dt: time since the previous sample: None (= 1), a number, (T,), (B, T) or (B, T, 1). Finite, at least 0.
            lengths: (B,) samples of each series; what follows is padding and changes nothing.

        Returns:
            (B, T, output_size) outputs, and (B, output_size) that at each series' last sample.

        Raises:
            ValueError: a shape that does not fit, an interval that is negative, NaN or infinite, a length beyond T.

        """
        y, final, _ = self._answer(self.batch(x, dt, lengths), with_loss=False)
        return y, final

    def objective(
        self,
        x: Tensor,
        dt: Interval = None,
        lengths: Tensor | Sequence[int] | None = None,
        *,
        with_loss: bool = True,
        check: bool = True,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return what `forward` returns, and the model's own loss from the same run: (), or None where it has none.

        The loss is weighed as it is to be added to that of the task, and None without `with_loss`. With `check=False`
        intervals may be negative.
        """
        return self._answer(self.batch(x, dt, lengths, check=check), with_loss)

    def batch(
        self, x: Tensor, dt: Interval = None, lengths: Tensor | Sequence[int] | None = None, *, check: bool = True
    ) -> SeriesBatch:
        """Return the arguments of `forward` as the model reads them, checked."""
        if not isinstance(x, Tensor) or x.dim() != 3:
            got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"`x` must have shape (B, T, D); got {got}.")
        check_width("x", x, self.input_size, "(B, T, D)")
        counts = None if lengths is None else check_lengths(lengths, x.shape[0], x.shape[1], x.device)
        if check:
            full = intervals(dt, x, counts)
        elif isinstance(dt, Tensor) and dt.shape == x.shape[:2]:
            full = dt.to(x.dtype)
        else:
            raise ValueError("`dt` must be a tensor (B, T) if it is not checked.")
        return SeriesBatch.of(x, full, counts, self.mask)

    @abstractmethod
    def run(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, T, output_size) outputs, and where asked for the model's own loss ().

        What the outputs hold in the padding does not matter. There is at least one series and one sample.
        """

    def _answer(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor, Tensor | None]:
        B, T = batch.dt.shape
        if B == 0 or T == 0:
            y = batch.x.new_zeros(B, T, self.output_size)
            return y, y.new_zeros(B, self.output_size), None
        y, loss = self.run(batch, with_loss)
        y = y.masked_fill(~batch.inside.unsqueeze(-1), 0.0)
        return y, batch.last(y), loss

    def extra_repr(self) -> str:
        """Return the settings that no submodule shows."""
        return f"{self.input_size} -> {self.output_size}, mask={self.mask}"


class WholeSeriesModel(SequenceModel):
    """A model with one output per series, which stands at each of its samples."""

    @abstractmethod
    def summarise(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, output_size), one row per series, and where asked for the model's own loss ()."""

    def run(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return the summary at every sample, and the loss."""
        summary, loss = self.summarise(batch, with_loss)
        return summary.unsqueeze(1).expand(-1, batch.dt.shape[1], -1), loss


def perceptron(sizes: Sequence[int], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Return linear maps sizes[0] -> sizes[1] -> …, each followed by the activation; none for one size."""
    parts: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        parts += [nn.Linear(before, after), activation()]
    return nn.Sequential(*parts)


def reference_times(points: int, span: Tensor) -> Tensor:
    """Return (B, R) equidistant times from 0 to each series' span (B, 1)."""
    return torch.linspace(0.0, 1.0, points, dtype=span.dtype, device=span.device) * span
