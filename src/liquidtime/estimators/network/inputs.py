"""What a caller passes as X, as a set of series; and a set of series, as what a network takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from liquidtime.data import Batch, Batches, Encoded, History, SeriesEncoder, SeriesSet, pad
from liquidtime.data.container import flat_rows


def as_series(estimator: BaseEstimator, X: Any, *, reset: bool) -> SeriesSet:
    """Return X as a set of series.

    Args:
        estimator: whose `n_features_in_` is set or compared, for arrays.
        X: a `SeriesSet`, or one encoded by an encoder before the model in a pipeline; (S, T) as series of
            one channel at times 0…T - 1; (S, T, C); a list of (times, values), of
            arrays (T_i, C) or of pandas frames; or a pandas frame with series and times in its index, whose series
            are in the order in which they first come.
        reset: True in `fit`, False where X must be like that of `fit`.

    Raises:
        ValueError: another number of features than in `fit`, no series, infinite values.
        TypeError: a type that is none of these.

    """
    if isinstance(X, SeriesSet):
        if len(X) == 0:
            raise ValueError("`X` must hold at least one series; got none")
        return X
    if isinstance(X, Encoded):
        return X.as_set()
    if isinstance(X, list) and X and (isinstance(X[0], tuple) or getattr(X[0], "ndim", 0) == 2):
        return SeriesSet.from_arrays(X)
    if getattr(getattr(X, "index", None), "nlevels", 1) == 2:
        return SeriesSet.from_wide(X, ids=X.index.get_level_values(0).unique())
    if getattr(X, "ndim", None) == 3:
        block = np.asarray(X)
        if reset:
            estimator.n_features_in_ = block.shape[2]
        elif block.shape[2] != getattr(estimator, "n_features_in_", block.shape[2]):
            raise ValueError(
                f"X has {block.shape[2]} features, but {type(estimator).__name__} is expecting "
                f"{estimator.n_features_in_} features as input: the channels, on the last axis of (S, T, C)."
            )
        return SeriesSet.from_arrays(block, axes=None if reset else "STC")
    table = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
    return SeriesSet.from_arrays(table)


class SeriesBatch(NamedTuple):
    """Several series padded side by side, with their history; `SeriesNetwork.forward` takes the first five fields.

    It is a `liquidtime.data.Batch` and what the read-out sees besides.

    Args:
        x: (B, T, D).
        dt: (B, T).
        lengths: (B,).
        static: (B, F).
        history: (B, G), or (B, T, G) where every step is asked for.
        rows: (B,) which series of the set these are.
        ids: (B,) their ids.
        first: (B,) the position of each series' first step among all steps of the set.
    """

    x: Tensor
    dt: Tensor
    lengths: Tensor
    static: Tensor
    history: Tensor
    rows: Tensor
    ids: npt.NDArray[Any]
    first: Tensor


@dataclass(frozen=True)
class Prepared:
    """A set of series, encoded.

    Args:
        encoded: the steps.
        history: (S, G) after each series' last step, or (N, G) after every step.
        every_step: which of the two.
    """

    encoded: Encoded
    history: npt.NDArray[np.float32]
    every_step: bool

    @staticmethod
    def of(encoder: SeriesEncoder, data: SeriesSet, every_step: bool = False) -> Prepared:
        """Encode a set with a fitted encoder."""
        steps, history = encoder.steps(data), History(encoder)
        encoded = encoder.encode(steps)
        return Prepared(encoded, history.at_steps(steps) if every_step else history.at_ends(steps), every_step)

    def __len__(self) -> int:
        return len(self.encoded)

    def seen_by_read_out(self) -> npt.NDArray[np.float32]:
        """Return (S or N, D + G + F): the input and the history after each series or step, and the static features."""
        encoded = self.encoded
        if self.every_step:
            return np.concatenate([encoded.x, self.history, np.repeat(encoded.static, encoded.lengths, axis=0)], axis=1)
        some = encoded.lengths > 0
        last = np.zeros((len(encoded), encoded.x.shape[1]), dtype=np.float32)
        last[some] = encoded.x[encoded.offsets[1:][some] - 1]
        return np.concatenate([last, self.history, encoded.static], axis=1)

    def with_history(self, batch: Batch) -> SeriesBatch:
        """Return a batch with its history."""
        rows = batch.rows.numpy()
        if not self.every_step:
            history = torch.from_numpy(self.history[rows])
        else:
            B, T = batch.dt.shape
            padded = np.zeros((B, T, self.history.shape[1]), dtype=np.float32)
            inside = np.arange(T) < self.encoded.lengths[rows][:, None]
            padded[inside] = self.history[flat_rows(self.encoded.offsets, rows)]
            history = torch.from_numpy(padded)
        ids, first = self.encoded.ids[rows], torch.from_numpy(self.encoded.offsets[rows])
        return SeriesBatch(batch.x, batch.dt, batch.lengths, batch.static, history, batch.rows, ids, first)

    def at(self, rows: Any) -> SeriesBatch:
        """Return some series as one batch."""
        return self.with_history(pad(self.encoded, np.asarray(rows, dtype=np.int64)))


class SeriesBatches:
    """Batches with their history, in a new order for each epoch, or sorted by length without a generator.

    Args:
        prepared: the series.
        batch_size: B.
        rows: which series; all if None.
        generator: of the order.
    """

    def __init__(
        self, prepared: Prepared, batch_size: int, rows: Any = None, generator: torch.Generator | None = None
    ) -> None:
        rng = None
        if generator is not None:
            rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator)))
        self._prepared = prepared
        self._batches = Batches(prepared.encoded, batch_size, rows=rows, rng=rng)

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[SeriesBatch]:
        return (self._prepared.with_history(batch) for batch in self._batches)
