"""Models that read whole series, used instead of an estimator's recurrent layer."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from liquidtime.baselines.series import SequenceModel
from liquidtime.data.encoding.encoder_layout import Layout
from liquidtime.networks import check_network, entry_of


class WholeSeriesReader(nn.Module, ABC):
    """A module that replaces a recurrent layer and reads whole series, without single steps.

    Attributes:
        input_size: D of the encoded samples.
        output_size: width of the outputs.
    """

    input_size: int
    output_size: int

    @property
    @abstractmethod
    def causal(self) -> bool:
        """Whether an output depends only on the samples up to it."""

    @property
    @abstractmethod
    def refusal(self) -> str:
        """The reason why it takes no single samples, and what to do instead."""

    def steps_of(self, lengths: Tensor) -> Tensor:
        """Return (B,) the number of outputs for series of these lengths (B,)."""
        return lengths


class SeriesReader(WholeSeriesReader):
    """A model of whole series for encoded samples, which gets the columns that it can read.

    A model that knows which values were observed gets the values, each with its channel's mask; another gets all.

    Args:
        name: of a network that reads whole series.
        hidden_size: H.
        num_layers: layers of a stackable model; 1 for the others.
        input_size: D of the encoded samples.
        layout: which of them is what.

    """

    columns: Tensor

    def __init__(self, name: str, hidden_size: int, num_layers: int, input_size: int, layout: Layout) -> None:
        super().__init__()
        self.name, self.input_size = name, input_size
        check_network(name, num_layers)
        entry = entry_of(name)
        values = [column for part in layout.value.values() for column in range(part.start, part.stop)]
        masks = [layout.mask + layout.channel_of[column] for column in values] if layout.since > layout.mask else []
        masked = entry.masks != "none" and bool(values)
        columns = [*values, *masks] if masked else list(range(input_size))
        self.register_buffer("columns", torch.tensor(columns), persistent=False)
        self.model: SequenceModel = entry.model(len(columns), hidden_size, num_layers, mask=masked and bool(masks))
        self.output_size = self.model.output_size

    @property
    def causal(self) -> bool:
        """Whether an output depends only on the samples up to it."""
        return self.model.causal

    @property
    def refusal(self) -> str:
        """The reason why it takes no single samples."""
        return (
            f"`network` {self.name!r} reads whole series and takes no single samples: predict the series so far again, "
            "or take a recurrent network such as 'cfc'."
        )

    def forward(self, x: Tensor, *, dt: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return (B, T, output_size) of samples x (B, T, D), and in training the model's own loss, if it has one."""
        y, _, loss = self.model.objective(x[..., self.columns], dt, lengths, with_loss=self.training)
        return y, loss
