"""The interface of a model of whole series: used like `layers.Recurrent`, but not built from single steps."""

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

    y is (B, T, output_size), 0 in the padding; final (B, output_size) is y at the last sample of each series, 0 for a
    series without samples. A model that reads the whole series before its first output gives the same output at every
    sample.

    Attributes:
        causal: whether the output at a sample depends only on the samples up to it.
        uses_dt: whether time has any effect.
        takes_mask: whether it can distinguish observed values from missing ones; x is then [values ; mask], D = 2C,
            unless it was constructed with `mask=False`, so that every value counts as observed.

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
            x: (B, T, D) samples; [values ; mask] for a model with a mask.
            dt: time since the previous sample: None (= 1), a number, (T,), (B, T) or (B, T, 1). Finite, at least 0.
            lengths: (B,) number of samples of each series; what follows is padding and has no effect.

        Returns:
            (B, T, output_size) outputs, and (B, output_size) the output at the last sample of each series.

        Raises:
            ValueError: a shape does not fit, an interval is negative, NaN or infinite, or a length exceeds T.

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
        """Return the results of `forward`, and the model's own loss from the same run: (), or None if it has none.

        The loss is weighted so that it can be added to that of the task; it is None without `with_loss`. With
        `check=False`, intervals may be negative.
        """
        return self._answer(self.batch(x, dt, lengths, check=check), with_loss)

    def batch(
        self, x: Tensor, dt: Interval = None, lengths: Tensor | Sequence[int] | None = None, *, check: bool = True
    ) -> SeriesBatch:
        """Check the arguments of `forward` and return them in the form that the model reads."""
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
        """Return (B, T, output_size) outputs and, if requested, the model's own loss ().

        Outputs in the padding are ignored. There is at least one series and one sample.
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
    """A model with one output per series, which is repeated at each of its samples."""

    @abstractmethod
    def summarise(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return (B, output_size), one row per series, and, if requested, the model's own loss ()."""

    def run(self, batch: SeriesBatch, with_loss: bool) -> tuple[Tensor, Tensor | None]:
        """Return the summary at every sample, and the loss."""
        summary, loss = self.summarise(batch, with_loss)
        return summary.unsqueeze(1).expand(-1, batch.dt.shape[1], -1), loss


def perceptron(sizes: Sequence[int], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Return linear maps sizes[0] -> sizes[1] -> …, each followed by the activation; no map for a single size."""
    parts: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        parts += [nn.Linear(before, after), activation()]
    return nn.Sequential(*parts)


def reference_times(points: int, span: Tensor) -> Tensor:
    """Return (B, R) equidistant times from 0 to the span (B, 1) of each series."""
    return torch.linspace(0.0, 1.0, points, dtype=span.dtype, device=span.device) * span
