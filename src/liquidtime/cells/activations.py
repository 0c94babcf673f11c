"""Activations of a backbone and its heads."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from liquidtime.cells.plain import note_table

Activation = Callable[[Tensor], Tensor]


def lecun_tanh(v: Tensor) -> Tensor:
    """Return 1.7159·tanh(0.666·v), which keeps unit variance where plain tanh shrinks it."""
    return 1.7159 * torch.tanh(0.666 * v)


ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "silu": F.silu,
    "gelu": F.gelu,
    "tanh": torch.tanh,
    "lecun_tanh": lecun_tanh,
}

HEAD_ACTIVATIONS: dict[str, Activation] = {"tanh": torch.tanh, "lecun_tanh": lecun_tanh}

note_table(ACTIVATIONS)
note_table(HEAD_ACTIVATIONS)
