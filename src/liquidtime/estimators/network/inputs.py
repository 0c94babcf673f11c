"""Convert X from callers to a set of series, and a set of series to inputs of networks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from liquidtime.data import Encoded, History, SeriesEncoder, SeriesSet
from liquidtime.data.container import flat_rows, neighbours
from liquidtime.data.container.drawn_series import drawn_rows
from liquidtime.data.container.series_set import BLOCK
from liquidtime.data.encoding import BatchPlan
from liquidtime.data.stored import StoredSet
from liquidtime.estimators.network.encoding import DeviceEncoding, Encoding, joined
from liquidtime.estimators.network.shares import own_rows
from liquidtime.estimators.network.summary import Summary
from liquidtime.training.devices import CPU, device_of, moved
from liquidtime.training.ranks import ALONE, Ranks, Share

Rows = npt.NDArray[np.int64]

KEPT_ENCODED, KEPT_OF_STORED, VARIABLE = 1024, 160, "LIQUIDTIME_ENCODED_MB"
"""Megabytes of encoded series to keep for the next epoch, for sets in memory and on disk, and the environment variable
that overrides them."""


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


def budget(data: SeriesSet) -> int:
    """Return the largest number of bytes of encoded series to keep.

    Args:
        data: the series.

    Raises:
        ValueError: the environment variable is not a number of megabytes.

    """
    text = os.environ.get(VARIABLE, str(KEPT_OF_STORED if isinstance(data, StoredSet) else KEPT_ENCODED))
    if not text.isdecimal():
        raise ValueError(f"{VARIABLE} must be a whole number of megabytes; got {text!r}")
    return int(text) << 20


class SeriesBatch(NamedTuple):
    """Several series padded side by side, with their history; `SeriesNetwork.forward` takes the first five fields.

    It is a `liquidtime.data.Batch` and what the read-out sees besides. Those five are on the device of the network, and
    all that follows is on the host, so that targets are looked up without waiting for the device.

    Args:
        x: (B, T, D).
        dt: (B, T).
        lengths: (B,).
        static: (B, F).
        history: (B, G), or (B, T, G) where every step is asked for.
        rows: (B,) which series of the set these are.
        ids: (B,) their ids.
        first: (B,) the position of each series' first step among all steps of the set.
        counts: (B,) the lengths again.
        intervals: (B, T) dt again.
        share: where several ranks train, what this is of the whole batch; None for all of it.
    """

    x: Tensor
    dt: Tensor
    lengths: Tensor
    static: Tensor
    history: Tensor
    rows: Tensor
    ids: npt.NDArray[Any]
    first: Tensor
    counts: Tensor
    intervals: Tensor
    share: Share | None = None


class Prepared:
    """A set of series for networks, which encodes batches on request.

    The first series of the set stay encoded, as many as a budget allows; what is asked for again and again is then
    encoded once. The numbers are the same either way.

    Args:
        encoder: fitted.
        data: S series, with the channels of training.
        every_step: whether the history is asked for after every step, or after each series' last one.
        budget: bytes of encoded series to keep.
        device: where batches are padded, and encoded series kept.
        summary: features of whole series that stand behind the history, or None.

    Attributes:
        lengths: (S,) steps of each series.
        offsets: (S + 1,) the position of each series' first step among all N.
        ids: (S,).
    """

    def __init__(
        self,
        encoder: SeriesEncoder,
        data: SeriesSet,
        every_step: bool,
        budget: int,
        device: torch.device = CPU,
        summary: Summary | None = None,
    ) -> None:
        self.encoder, self.data, self.every_step, self.device = encoder, data, every_step, device
        self.summary, self._budget = summary, budget
        self._history = History(encoder)
        self._width = history_width(encoder, summary)
        self.lengths, self.ids = encoder.step_counts(data), data.ids
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        G = self._width
        per_step, per_series = encoder.input_size_ + 1, encoder.static_size_
        per_step, per_series = (per_step + G, per_series) if every_step else (per_step, per_series + G)
        size = 4 * (self.offsets[1:] * per_step + np.arange(1, len(data) + 1) * per_series)
        self._count = int(np.searchsorted(size, budget, side="right"))
        self._kept: Encoding | None = None
        self._narrow: Prepared | None = None
        self._table: npt.NDArray[np.float32] | None = None
        self._kept_there: DeviceEncoding | None = None

    @staticmethod
    def of(
        encoder: SeriesEncoder, data: SeriesSet, every_step: bool = False, *, keep: bool = True, device: str = "cpu"
    ) -> Prepared:
        """Prepare a set for a network.

        Args:
            encoder: fitted.
            data: series like those of training.
            every_step: as of the class.
            keep: whether batches are asked for again and again, so that encoded ones are worth their memory.
            device: as `device_of` takes it.
        """
        kept = budget(data) if keep else 0
        return Prepared(encoder, encoder.aligned(data), every_step, kept, device_of(device))

    def beside(self, summary: Summary, table: npt.NDArray[np.float32] | None = None) -> Prepared:
        """Return the same series with features of all of each beside its history; what is encoded is shared.

        Args:
            summary: the features.
            table: (S, R) those of these series, where they are known.
        """
        wider = Prepared(self.encoder, self.data, self.every_step, self._budget, self.device, summary)
        if self.kept_whole and wider.kept_whole and not self.every_step:
            wider._narrow, wider._table = self, table
        return wider

    @property
    def kept_whole(self) -> bool:
        """Whether all series stay encoded."""
        return self._count == len(self)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def times(self) -> npt.NDArray[np.float64]:
        """(N,) the times of all steps."""
        if not self.encoder.bin_width:
            return self.data.times
        blocks = [self.encoder.binned(part).times for _, part in self.data.blocks()]
        return np.concatenate(blocks) if blocks else np.empty(0)

    def seen_by_read_out(self, most: int) -> npt.NDArray[np.float32]:
        """Return (R, D + G + F): the input and the history after series or steps, and the static features.

        Args:
            most: rows, of which at least half are returned where there are more; they are spread evenly over the
                series of `drawn_rows`.
        """
        rows = drawn_rows(self.data)
        total = int(self.lengths[rows].sum()) if self.every_step else len(rows)
        stride, passed, tables = max(1, total // most), 0, []
        ends = np.concatenate([[0], np.cumsum(self.data.lengths[rows])]).astype(np.int64)
        for some in neighbours(ends, BLOCK):
            part = self._part_of(rows[some])
            lengths = np.diff(part.offsets)
            if self.every_step:
                inputs, static = part.x, np.repeat(part.static, lengths, axis=0)
            else:
                static = part.static
                inputs = np.zeros((len(lengths), part.x.shape[1]), dtype=np.float32)
                inputs[lengths > 0] = part.x[part.offsets[1:][lengths > 0] - 1]
            tables.append(np.concatenate([inputs, part.history, static], axis=1)[-passed % stride :: stride])
            passed += len(inputs)
        return np.concatenate(tables)

    def at(self, rows: Any) -> SeriesBatch:
        """Return series as one batch."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths[rows]
        if self.device.type != "cpu":
            return self._padded_there(rows, lengths)
        B, T = len(rows), max(1, int(lengths.max(initial=0)))
        inside = np.arange(T) < lengths[:, None]  # (B, T)
        D, F, G = self.encoder.input_size_, self.encoder.static_size_, self._width
        x, dt = np.zeros((B, T, D), dtype=np.float32), np.zeros((B, T), dtype=np.float32)
        static = np.empty((B, F), dtype=np.float32)
        history = np.zeros((B, T, G) if self.every_step else (B, G), dtype=np.float32)
        for chosen, part, places in self._parts(rows):
            steps, here = flat_rows(part.offsets, places), inside & chosen[:, None]
            x[here], dt[here], static[chosen] = part.x[steps], part.dt[steps], part.static[places]
            if self.every_step:
                history[here] = part.history[steps]
            else:
                history[chosen] = part.history[places]
        x_, dt_, static_, history_ = (torch.from_numpy(array) for array in (x, dt, static, history))
        lengths_, rows_, first = (torch.from_numpy(array) for array in (lengths, rows.copy(), self.offsets[rows]))
        return SeriesBatch(x_, dt_, lengths_, static_, history_, rows_, self.ids[rows], first, lengths_, dt_)

    def _padded_there(self, rows: Rows, lengths: Rows) -> SeriesBatch:
        """Return series as one batch that is padded on the device."""
        B, T = len(rows), max(1, int(lengths.max(initial=0)))
        dt = np.zeros((B, T), dtype=np.float32)
        kept, parts = rows < self._count, []
        for chosen in (kept, ~kept):
            if not chosen.any():
                continue
            if chosen is kept:
                part, places = self._there(), rows[chosen]
            else:
                part = self._encode(self.data[rows[chosen]]).on(self.device, self.every_step)
                places = np.arange(int(chosen.sum()))
            dt[(np.arange(T) < lengths[:, None]) & chosen[:, None]] = part.dt[flat_rows(part.offsets, places)]
            parts.append((np.flatnonzero(chosen), part.padded(places, T)))
        x, static, history = joined(parts)
        dt_, lengths_, rows_, first = (
            torch.from_numpy(each) for each in (dt, lengths, rows.copy(), self.offsets[rows])
        )
        dt_there, lengths_there = (moved(each, self.device) for each in (dt_, lengths_))
        there = (x, dt_there, lengths_there, static, history)
        return SeriesBatch(*there, rows_, self.ids[rows], first, lengths_, dt_)

    def _there(self) -> DeviceEncoding:
        """Return the series that are kept, on the device and no longer on the host."""
        if self._kept_there is None:
            self._kept_there = self._first().on(self.device, self.every_step)
            self._kept = None
        return self._kept_there

    def _parts(self, rows: Rows) -> Iterator[tuple[npt.NDArray[np.bool_], Encoding, Rows]]:
        """Yield which of the rows are in a part, the part, and their places in it."""
        kept = rows < self._count
        if kept.any():
            yield kept, self._first(), rows[kept]
        if not kept.all():
            yield ~kept, self._encode(self.data[rows[~kept]]), np.arange(int((~kept).sum()))

    def _part_of(self, rows: Rows) -> Encoding:
        """Return some series, in rising order, from those that are kept, or encoded now."""
        if not len(rows) or rows[-1] >= self._count:
            return self._encode(self.data[rows])
        kept = self._first()
        steps = flat_rows(kept.offsets, rows)
        offsets = np.concatenate([[0], np.cumsum(self.lengths[rows])]).astype(np.int64)
        history = kept.history[steps if self.every_step else rows]
        return Encoding(kept.x[steps], kept.dt[steps], offsets, kept.static[rows], history)

    def _first(self) -> Encoding:
        """Return the series that are kept, encoded block by block when they are first asked for."""
        if self._kept is None and self._narrow is not None and self.summary is not None:
            own = self.summary.at_ends(self.data) if self._table is None else self._table
            kept = self._narrow._first()
            self._kept = kept._replace(history=np.concatenate([kept.history, own], axis=1))
        if self._kept is None:
            S, N, G = self._count, int(self.offsets[self._count]), self._width
            D, F, R = self.encoder.input_size_, self.encoder.static_size_, N if self.every_step else S
            x, dt, static, history = (np.empty(shape, np.float32) for shape in ((N, D), (N,), (S, F), (R, G)))
            for rows, data in self.data[:S].blocks():
                part, steps = self._encode(data), slice(self.offsets[rows.start], self.offsets[rows.stop])
                x[steps], dt[steps], static[rows] = part.x, part.dt, part.static
                history[steps if self.every_step else rows] = part.history
            self._kept = Encoding(x, dt, self.offsets[: S + 1], static, history)
        return self._kept

    def _encode(self, data: SeriesSet) -> Encoding:
        steps = self.encoder.binned(data)
        encoded = self.encoder.encode(steps)
        history = self._history.at_steps(steps) if self.every_step else self._history.at_ends(steps)
        if self.summary is not None:
            own = self.summary.at_steps(data, self.encoder.bin_width) if self.every_step else self.summary.at_ends(data)
            history = np.concatenate([history, own], axis=1)
        return Encoding(encoded.x, encoded.dt, encoded.offsets, encoded.static, history)


def history_width(encoder: SeriesEncoder, summary: Summary | None) -> int:
    """Return G: how many running statistics there are, and features of whole series behind them."""
    return len(History(encoder).names) + (0 if summary is None else summary.size)


class SeriesBatches:
    """Batches with their history, in a new order for each epoch, or sorted by length without a generator.

    Args:
        prepared: the series.
        batch_size: B.
        rows: which series; all if None.
        generator: of the order.
        ranks: who shares each batch; this process then has its own rows only.
    """

    def __init__(
        self,
        prepared: Prepared,
        batch_size: int,
        rows: Any = None,
        generator: torch.Generator | None = None,
        ranks: Ranks = ALONE,
    ) -> None:
        rng = None
        if generator is not None:
            rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator)))
        self._prepared, self._ranks = prepared, ranks
        self._plan = BatchPlan(prepared.lengths, batch_size, rows=rows, rng=rng)

    def __len__(self) -> int:
        return len(self._plan)

    def __iter__(self) -> Iterator[SeriesBatch]:
        return (own_rows(self._prepared, rows, self._ranks) for rows in self._plan.plan())

    def dealt(self, ranks: Ranks) -> Iterator[SeriesBatch]:
        """Return the whole batches that are a rank's turn, where several go through them together."""
        return (self._prepared.at(rows) for rows in self._plan.plan()[ranks.rank :: ranks.world])
