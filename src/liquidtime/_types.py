"""Type names shared by every layer of the package.

Axes are written as B (batch), T (time), D (input), H (hidden) and U (backbone) everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from torch import Tensor

State: TypeAlias = tuple[Tensor, ...]
"""The state that a cell carries from one sample to the next: one (B, ·) tensor for each of its `state_sizes`."""

HiddenState: TypeAlias = Tensor | tuple[Tensor, ...]
"""The state of a layer: (L, B, H), or a tuple of such tensors if a cell has several parts."""

Drive: TypeAlias = Callable[[Tensor], tuple[Tensor, Tensor]]
"""The right-hand side of dx/dt = push(x) - rate(x)·x: maps x (B, H) to (rate, push), each (B, H)."""
