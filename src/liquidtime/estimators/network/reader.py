"""The models that read whole series, in the place of an estimator's recurrent layer."""

from __future__ import annotations

from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from liquidtime.baselines import BASELINES, SequenceModel
from liquidtime.data.encoding.encoder_layout import Layout

_STACKED = ("transformer",)


class SeriesReader(nn.Module):
    """One of `BASELINES` on encoded samples, of which it is given the columns that it can read.

    A model that knows which values were observed gets the values, each with its channel's mask; another gets all.

    Args:
        name: of `BASELINES`.
        hidden_size: H.
        num_layers: of a Transformer; 1 for the others.
        input_size: D of the encoded samples.
        layout: which of them is what.

    """

    columns: Tensor

    def __init__(self, name: str, hidden_size: int, num_layers: int, input_size: int, layout: Layout) -> None:
        super().__init__()
        self.name, self.input_size = name, input_size
        make, options = BASELINES[name], layers_of(name, num_layers)
        values = [column for part in layout.value.values() for column in range(part.start, part.stop)]
        masks = [layout.mask + layout.channel_of[column] for column in values] if layout.since > layout.mask else []
        if not make(2, 2).takes_mask or not values:
            columns = list(range(input_size))
        else:
            columns, options = [*values, *masks], options | {"mask": bool(masks)}
        self.register_buffer("columns", torch.tensor(columns), persistent=False)
        self.model: SequenceModel = make(len(columns), hidden_size, **options)
        self.output_size = self.model.output_size

    @property
    def causal(self) -> bool:
        """Whether an output depends on the samples up to it alone."""
        return self.model.causal

    def forward(self, x: Tensor, *, dt: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return (B, T, output_size) of samples x (B, T, D), and in training the model's own loss, if it has one."""
        y, _, loss = self.model.objective(x[..., self.columns], dt, lengths, with_loss=self.training)
        return y, loss


def layers_of(name: str, num_layers: int) -> dict[str, Any]:
    """Return the option for so many layers, or refuse them."""
    if name in _STACKED:
        return {"num_layers": num_layers}
    if num_layers != 1:
        raise ValueError(f"`num_layers` must be 1 for network={name!r}, which has no layers to stack; got {num_layers}")
    return {}


def reads_whole_series(network: object) -> TypeGuard[str]:
    """Return whether `network` is the name of a model without single steps."""
    return isinstance(network, str) and network in BASELINES
