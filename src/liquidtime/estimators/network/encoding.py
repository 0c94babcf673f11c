"""Encoded series, on the host or on another device, where they are padded to batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import pad

from liquidtime.training.devices import moved

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Encoding(NamedTuple):
    """Encoded series.

    Args:
        x: (N, D).
        dt: (N,).
        offsets: (S + 1,).
        static: (S, F).
        history: (S, G) after each series' last step, or (N, G) after every step.
    """

    x: Floats
    dt: Floats
    offsets: Rows
    static: Floats
    history: Floats

    def on(self, device: torch.device, every_step: bool) -> DeviceEncoding:
        """Return the series on a device; with `every_step` the history is after every step."""
        x, static, history = (moved(torch.from_numpy(part), device) for part in (self.x, self.static, self.history))
        history = _with_padding(history) if every_step else history
        return DeviceEncoding(_with_padding(x), self.dt, self.offsets, static, history, every_step)


class DeviceEncoding(NamedTuple):
    """Encoded series on a device, except for their offsets.

    Args:
        x: (N + 1, D), the last row 0.
        dt: (N,) on the host.
        offsets: (S + 1,) on the host.
        static: (S, F).
        history: (S, G) after each series' last step, or (N + 1, G) after every step, the last row 0.
        every_step: which of both.
    """

    x: Tensor
    dt: Floats
    offsets: Rows
    static: Tensor
    history: Tensor
    every_step: bool

    def padded(self, rows: Rows, T: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return x (B, T, D), static (B, F) and history (B, G) or (B, T, G) of some series, 0 past their ends."""
        N, B = len(self.dt), len(rows)
        first, lengths = self.offsets[rows][:, None], np.diff(self.offsets)[rows][:, None]
        step = np.arange(T)
        steps = _index(np.where(step < lengths, first + step, N), self.x.device)  # (B·T,)
        chosen = _index(rows, self.x.device)
        x = self.x.index_select(0, steps).view(B, T, -1)
        if not self.every_step:
            return x, self.static.index_select(0, chosen), self.history.index_select(0, chosen)
        return x, self.static.index_select(0, chosen), self.history.index_select(0, steps).view(B, T, -1)


def joined(parts: Sequence[tuple[Rows, tuple[Tensor, ...]]]) -> tuple[Tensor, ...]:
    """Return rows of several parts as one batch.

    Args:
        parts: of each the places (k,) of its rows in the batch, and tensors (k, ...).
    """
    if len(parts) == 1:
        return parts[0][1]
    columns = zip(*(tensors for _, tensors in parts), strict=True)
    order = np.argsort(np.concatenate([places for places, _ in parts]))
    return tuple(torch.cat(each).index_select(0, _index(order, each[0].device)) for each in columns)


def _with_padding(table: Tensor) -> Tensor:
    """Return (N + 1, ·) with an additional row of 0 for padding."""
    return pad(table, (0, 0, 0, 1))


def _index(places: Rows, device: torch.device) -> Tensor:
    return moved(torch.from_numpy(np.ascontiguousarray(places).reshape(-1)), device)
