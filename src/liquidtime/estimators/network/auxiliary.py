"""Auxiliary targets: more facts about training series that help to learn the target, not needed to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from liquidtime.errors import wrong_shape
from liquidtime.estimators.network.inputs import SeriesBatch
from liquidtime.estimators.network.members import LossOf
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.training import Loss, squared_error

WEIGHT = 0.3
"""Weight of their mean squared error, in standard deviations, relative to the mean loss of the target."""


class WithAuxiliary(nn.Module):
    """A network in training that also predicts K auxiliary targets of each series from its read-out's hidden units.

        loss = loss of the target + 0.3 · mean over the known ones of (V·units + c - auxiliary target)²

    The auxiliary targets shape the units that the target is read from, which helps if the target alone has little
    information, such as one bit per patient. Only `network` is kept after training.

    Args:
        network: what is trained.
        targets: (S, K) of the training series, standardised; NaN = not known.
    """

    def __init__(self, network: SeriesNetwork, targets: Tensor) -> None:
        super().__init__()
        self.network, self.targets = network, targets  # which stay on the host, where it is known which are known
        self.guess = nn.Linear(network.hidden.out_features, targets.shape[1])
        self._predicted: Tensor | None = None

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the outputs of the network; arguments are its own."""
        units = self.network.units_after(*batch)
        self._predicted = self.guess(units) if self.training else None
        out: Tensor = self.network.read_out(units)
        return out

    def with_own_loss(self, loss: Loss) -> Loss:
        """Return the loss with the network's own, if it has one."""
        return self.network.with_own_loss(loss)

    def with_auxiliary_loss(self, loss: Loss, rows: Tensor) -> Loss:
        """Return the target's loss with that of the predictions just made of the series `rows` (B,)."""
        predicted, self._predicted = self._predicted, None
        if predicted is None:
            return loss
        targets = self.targets[rows]
        error = squared_error(predicted, targets, torch.isfinite(targets))
        return loss._replace(beside=(*loss.beside, Loss(WEIGHT * error.total, error.weight)))


def beside(loss_of: LossOf) -> LossOf:
    """Return the loss of a `WithAuxiliary`: that of the target and, in training, that of the auxiliary targets."""

    def both(model: nn.Module, batch: SeriesBatch, target: Tensor) -> Loss:
        assert isinstance(model, WithAuxiliary)
        return model.with_auxiliary_loss(loss_of(model, batch, target), batch.rows)

    return both


def standardised(auxiliary: Any, S: int, rows: npt.NDArray[np.int64] | None = None) -> Tensor:
    """Return (R, K) float32 auxiliary targets with mean 0 and deviation 1 where they are known, NaN where not.

    Args:
        auxiliary: (S,), (S, K) or a data frame of numbers, one row per series; NaN or null = not known.
        S: number of series.
        rows: (R,) those of them that train; None for all.

    Raises:
        TypeError: no numbers.
        ValueError: another number of rows, infinite values, or a column that tells no two series apart.

    """
    table = auxiliary.to_numpy() if hasattr(auxiliary, "to_numpy") else np.asarray(auxiliary)
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`auxiliary` must be numbers, with NaN if not known; got {table.dtype}. Turn categories into 0 and 1."
        ) from error
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or len(values) != S or values.shape[1] == 0:
        raise wrong_shape("auxiliary", "(S, K)", [S, "K"], np.shape(table), "One row per series.")
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"`auxiliary` must be finite, or NaN if not known; {int(np.isinf(values).sum())} are infinite, the "
            f"first at position {row}, column {column}"
        )
    values = values if rows is None else values[rows]
    known = np.isfinite(values)
    scaled = np.full(values.shape, np.nan)
    for k, (column, some) in enumerate(zip(values.T, known.T, strict=True)):
        known_values = column[some]
        if len(np.unique(known_values)) < 2:
            raise ValueError(
                f"`auxiliary` must differ between series; column {k} is known for {len(known_values)} of {len(values)} "
                f"series{f' and always {known_values[0]:g}' if len(known_values) else ''}. Leave it out."
            )
        scaled[some, k] = (known_values - known_values.mean()) / known_values.std()
    return torch.from_numpy(scaled.astype(np.float32))
