"""The read-out of piecewise-linear features as a table, of which a number uses two rows instead of every piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from liquidtime.estimators.network.piecewise import PiecewiseLinear


@dataclass(frozen=True)
class ReadOutTable:
    """The result of a linear map of piecewise-linear features, stored at their knots.

    A column v with pieces e_1 … e_n contributes W·e(v) to the read-out, a polygon with its corners at the knots. Its
    rows are the corners, A_0 … A_n, and between them

        W·e(v) = (1 - f)·A_k + f·A_{k+1},   f = clip((v - low_k) / width_k, 0, 1),   k = the last piece with low_k <= v

    so that 2 rows are read for each column where the product reads one for each piece.

    Args:
        columns: (Q,) int64, which columns have pieces.
        knots: (Q, most pieces) the `low` of each piece, the largest float32 where there are fewer.
        pieces: (Q,) int64, the position of each column's first piece among `low` and `width`.
        low: (P,) of each piece.
        width: (P,) of each piece.
        corners: (Q,) int64, the position of each column's first row.
        rows: (P + Q, U).
    """

    columns: Tensor
    knots: Tensor
    pieces: Tensor
    low: Tensor
    width: Tensor
    corners: Tensor
    rows: Tensor

    @staticmethod
    def of(encoding: PiecewiseLinear, weight: Tensor) -> ReadOutTable:
        """Return the table of the encoding followed by a linear map.

        Args:
            encoding: the pieces, in the order of their columns.
            weight: (U, P) of the map.
        """
        column = encoding.column.long().numpy()
        columns, counts = np.unique(column, return_counts=True)
        order = np.argsort(column, kind="stable")
        low, width = encoding.low.numpy()[order], encoding.width.numpy()[order]
        W = weight.detach().double().numpy()[:, order] / encoding.scale.double().numpy()[order]  # (U, P)
        below = -(W * encoding.mean.double().numpy()[order])
        knots = np.full((len(columns), int(counts.max(initial=1))), np.finfo(np.float32).max, dtype=np.float32)
        rows, starts = [], np.concatenate([[0], np.cumsum(counts)])
        for q, n in enumerate(counts):
            part = slice(starts[q], starts[q] + n)
            if (np.diff(low[part]) <= 0).any():
                raise ValueError("the pieces of a column must be in the order of their values")
            knots[q, :n] = low[part]
            corners = np.cumsum(np.concatenate([below[:, part].sum(axis=1, keepdims=True), W[:, part]], axis=1), axis=1)
            rows.append(corners.T)
        table = np.concatenate(rows) if rows else np.zeros((0, len(W)))
        return ReadOutTable(
            torch.from_numpy(columns),
            torch.from_numpy(knots),
            torch.from_numpy(starts[:-1].astype(np.int64)),
            torch.from_numpy(low.copy()),
            torch.from_numpy(width.copy()),
            torch.from_numpy((starts[:-1] + np.arange(len(columns))).astype(np.int64)),
            torch.from_numpy(table.astype(np.float32)),
        )

    @staticmethod
    def beside(tables: Sequence[ReadOutTable]) -> ReadOutTable | None:
        """Return tables of the same pieces as one, whose rows are theirs side by side; None if the pieces differ."""
        first = tables[0]
        names = ("columns", "knots", "pieces", "low", "width", "corners")
        if not all(torch.equal(getattr(one, name), getattr(first, name)) for one in tables for name in names):
            return None
        return replace(first, rows=torch.cat([one.rows for one in tables], dim=1))

    def places(self, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Return the (B, 2Q) rows that columns (B, G) lie between, and the share of each; their sum is the read-out."""
        seen = columns.index_select(1, self.columns)  # (B, Q)
        k = torch.searchsorted(self.knots, seen.t().contiguous(), right=True).t().sub_(1).clamp_(min=0)
        piece = self.pieces + k
        f = ((seen - self.low[piece]) / self.width[piece]).clamp_(0.0, 1.0)
        at = self.corners + k
        return torch.cat([at, at + 1], dim=1), torch.cat([1 - f, f], dim=1)


@torch.library.custom_op("liquidtime::interpolate", mutates_args=())
def interpolate(
    columns: Tensor, knots: Tensor, pieces: Tensor, low: Tensor, width: Tensor, corners: Tensor, rows: Tensor
) -> Tensor:
    """Return (B, U) the sum over the columns `columns` (B, Q) of a `ReadOutTable`, whose other parts these are."""
    k = (columns.unsqueeze(-1) >= knots).sum(dim=-1).sub(1).clamp(min=0)  # (B, Q)
    f = ((columns - low[pieces + k]) / width[pieces + k]).clamp(0.0, 1.0).unsqueeze(-1)
    at = corners + k
    return ((1 - f) * rows[at] + f * rows[at + 1]).sum(dim=1)


@interpolate.register_fake
def _shape(
    columns: Tensor, knots: Tensor, pieces: Tensor, low: Tensor, width: Tensor, corners: Tensor, rows: Tensor
) -> Tensor:
    return columns.new_empty(columns.shape[0], rows.shape[1])
