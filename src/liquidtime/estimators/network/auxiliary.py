"""Further outcomes of the training series, learned along with the target and not needed to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from liquidtime.errors import wrong_shape
from liquidtime.estimators.network.inputs import SeriesBatch
from liquidtime.estimators.network.members import LossOf
from liquidtime.estimators.network.network import SeriesNetwork
from liquidtime.training import Loss, squared_error

WEIGHT = 0.3
"""Of their mean squared error, in standard deviations, beside the mean loss of the target."""


class WithAuxiliary(nn.Module):
    """A network in training that also guesses K further outcomes of each series from its read-out's hidden units.

        loss = loss of the target + 0.3 · mean over the known outcomes of (V·units + c - outcome)²

    What tells the outcomes apart shapes the units that the target is read from, which helps where the target alone
    says little: one bit a patient. Only `network` is kept after training.

    Args:
        network: what is trained.
        outcomes: (S, K) of the training series, standardised; NaN = not known.
    """

    outcomes: Tensor

    def __init__(self, network: SeriesNetwork, outcomes: Tensor) -> None:
        super().__init__()
        self.network = network
        self.guess = nn.Linear(network.hidden.out_features, outcomes.shape[1])
        self.register_buffer("outcomes", outcomes, persistent=False)
        self._guessed: Tensor | None = None

    def forward(self, *sample: Tensor) -> Tensor:
        """Return the outputs of the network; arguments are its own."""
        units = self.network.units_after(*sample)
        self._guessed = self.guess(units) if self.training else None
        out: Tensor = self.network.read_out(units)
        return out

    def with_own_loss(self, loss: Loss) -> Loss:
        """Return the loss with the network's own, if it has one."""
        return self.network.with_own_loss(loss)

    def with_outcomes(self, loss: Loss, rows: Tensor) -> Loss:
        """Return the target's loss with that of the outcomes guessed just before, of the series `rows` (B,)."""
        guessed, self._guessed = self._guessed, None
        if guessed is None:
            return loss
        wanted = self.outcomes[rows]
        error = squared_error(guessed, wanted, torch.isfinite(wanted))
        return Loss(loss.total + WEIGHT * loss.weight * error.total / max(float(error.weight), 1.0), loss.weight)


def beside(loss_of: LossOf) -> LossOf:
    """Return the loss of a `WithAuxiliary`: that of the target and, in training, that of the outcomes."""

    def both(model: nn.Module, sample: SeriesBatch, target: Tensor) -> Loss:
        assert isinstance(model, WithAuxiliary)
        return model.with_outcomes(loss_of(model, sample, target), sample.rows)

    return both


def standardised(auxiliary: Any, S: int) -> Tensor:
    """Return (S, K) float32 outcomes with mean 0 and deviation 1 where they are known, NaN where not.

    Args:
        auxiliary: (S,), (S, K) or a data frame of numbers, one row a series; NaN or null = not known.
        S: number of series.

    Raises:
        TypeError: no numbers.
        ValueError: another number of rows, infinite values, or an outcome that tells no two series apart.

    """
    table = auxiliary.to_numpy() if hasattr(auxiliary, "to_numpy") else np.asarray(auxiliary)
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`auxiliary` must be numbers, NaN where not known; got {table.dtype}. Make 0 and 1 of a category."
        ) from error
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or len(values) != S or values.shape[1] == 0:
        raise wrong_shape("auxiliary", "(S, K)", [S, "K"], np.shape(table), "One row of further outcomes a series.")
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise ValueError(
            f"`auxiliary` must be finite, or NaN where not known; {int(np.isinf(values).sum())} are infinite, the "
            f"first at position {row}, outcome {column}"
        )
    known = np.isfinite(values)
    scaled = np.full(values.shape, np.nan)
    for place, (column, some) in enumerate(zip(values.T, known.T, strict=True)):
        seen = column[some]
        if len(np.unique(seen)) < 2:
            raise ValueError(
                f"`auxiliary` must have outcomes that differ between series; outcome {place} is known of {len(seen)} "
                f"of {S} series{f' and always {seen[0]:g}' if len(seen) else ''}. Leave it out."
            )
        scaled[some, place] = (seen - seen.mean()) / seen.std()
    return torch.from_numpy(scaled.astype(np.float32))
