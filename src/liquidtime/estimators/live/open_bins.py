"""A network's outputs after every sample of every series."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from liquidtime.data import OpenSteps, SeriesEncoder, SeriesSet, open_steps
from liquidtime.estimators.network.inputs import Prepared, Samples
from liquidtime.estimators.network.members import PREDICT_BATCH
from liquidtime.estimators.network.network import NetworkState, SeriesNetwork


def run_steps(prepared: Prepared, network: SeriesNetwork) -> Tensor:
    """Return (N, K) the outputs after each step.

    Args:
        prepared: the series, with the history of every step.
        network: in evaluation.
    """
    out = torch.zeros(len(prepared.encoded.times), network.read_out.out_features)
    for sample in Samples(prepared, PREDICT_BATCH):
        step = torch.arange(sample.dt.shape[1])
        inside = step < sample.lengths.unsqueeze(1)  # (B, T)
        out[(sample.first.unsqueeze(1) + step)[inside]] = network.prefixes(*sample[:5])[inside]
    return out


class OpenBins:
    """Series of which every sample is asked for, before a network that reads whole bins.

    The output after a sample is that of a series which ends there: its bin is a step as it stands, taken from the
    state after the bin before. Only the last sample of a bin leaves its state behind.

    Args:
        encoder: fitted, with bins.
        data: S series, every sample as it is.
    """

    def __init__(self, encoder: SeriesEncoder, data: SeriesSet) -> None:
        self.steps: OpenSteps = open_steps(encoder, data)
        self.series = np.repeat(np.arange(len(data)), data.lengths)
        self.order = np.argsort(self.steps.place, kind="stable")
        self.cuts = np.cumsum(np.bincount(self.steps.place))[:-1] if len(self.order) else np.zeros(0, dtype=np.int64)
        self.count = len(data)

    def run(self, network: SeriesNetwork) -> Tensor:
        """Return (N, K) the outputs of a network after each sample."""
        steps = self.steps
        out = torch.zeros(len(self.order), network.read_out.out_features)
        state: NetworkState | None = None
        row_of = np.zeros(self.count, dtype=np.int64)  # where each series stands in the state
        for rows in np.split(self.order, self.cuts) if len(self.order) else []:
            series = self.series[rows]
            before = None if state is None else state.at(torch.from_numpy(row_of[series]))
            out[rows], after = network.step(
                torch.from_numpy(steps.x[rows]),
                before,
                torch.from_numpy(steps.dt[rows]),
                torch.from_numpy(steps.static[series]),
                torch.from_numpy(steps.history[rows]),
            )
            kept = np.flatnonzero(steps.last[rows])
            state = after.at(torch.from_numpy(kept))
            row_of[series[kept]] = np.arange(len(kept))
        return out
