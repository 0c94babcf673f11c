"""Piecewise-linear encoding of numbers, with which a linear map represents any piecewise-linear function."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

_PIECES = 10
ROWS = 100_000
"""Number of rows from which the pieces are computed, up to twice as many."""
_LEAST_SCALE = 0.05
_BLOCK = 128


class PiecewiseLinear(nn.Module):
    """Encode each number by the pieces between quantiles of the training data.

        e_j(v) = clip((v - q_{j-1}) / (q_j - q_{j-1}), 0, 1),   q_0 < q_1 < … quantiles of v's column

    each then brought to mean 0 and a deviation. A truth value is one piece, a column that never varies none.

    Args:
        pieces: P, of all columns together.
    """

    column: Tensor
    low: Tensor
    width: Tensor
    mean: Tensor
    scale: Tensor

    def __init__(self, pieces: int) -> None:
        super().__init__()
        self.pieces = pieces
        for name in ("column", "low", "mean"):
            self.register_buffer(name, torch.zeros(pieces))
        for name in ("width", "scale"):
            self.register_buffer(name, torch.ones(pieces))

    @staticmethod
    def fitted(rows: npt.NDArray[Any], deviation: float = 1.0) -> PiecewiseLinear:
        """Return the encoding whose pieces are those of training rows.

        Args:
            rows: (R, G).
            deviation: of each piece; the smaller, the slower a layer that reads them learns.
        """
        rows = rows[:: max(1, len(rows) // ROWS)]
        edges = np.quantile(rows, np.linspace(0.0, 1.0, _PIECES + 1), axis=0).T.astype(np.float32)  # (G, pieces + 1)
        column, piece = np.nonzero(np.diff(edges, axis=1) > 0)
        encoding = PiecewiseLinear(len(column))
        encoding.column.copy_(torch.from_numpy(column))
        encoding.low.copy_(torch.from_numpy(edges[column, piece]))
        encoding.width.copy_(torch.from_numpy(edges[column, piece + 1] - edges[column, piece]))
        if len(rows) and len(column):
            table = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
            mean, spread = torch.empty(len(column)), torch.empty(len(column))
            for begin in range(0, len(column), _BLOCK):  # all pieces of many rows are large
                some = slice(begin, begin + _BLOCK)
                fractions = encoding.fractions(table, some)
                mean[some], spread[some] = fractions.mean(dim=0), fractions.std(dim=0, correction=0)
            encoding.mean.copy_(mean)
            encoding.scale.copy_(spread.clamp(min=_LEAST_SCALE) / deviation)
        return encoding

    def fractions(self, rows: Tensor, pieces: slice = slice(None)) -> Tensor:
        """Return (..., P) how far numbers (..., G) fill their pieces, or some of these."""
        low, width = self.low[pieces], self.width[pieces]
        return ((rows[..., self.column[pieces].long()] - low) / width).clamp(0.0, 1.0)

    def forward(self, rows: Tensor) -> Tensor:
        """Map (..., G) to (..., P)."""
        return (self.fractions(rows) - self.mean) / self.scale

    def check(self, G: int) -> None:
        """Refuse stored pieces that cannot be of G columns."""
        whole = bool((self.column == self.column.long()).all())
        inside = bool((self.column >= 0).all()) and bool((self.column < G).all())
        if not (whole and inside and bool((self.width > 0).all()) and bool((self.scale > 0).all())):
            raise ValueError(f"the stored pieces must be of {G} columns, with widths and scales over 0")
