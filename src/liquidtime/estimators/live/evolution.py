"""A network's outputs after every step, and after every sample, of whole sets of series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from liquidtime.data import SeriesSet
from liquidtime.estimators.live.step import ScaleStep
from liquidtime.estimators.network import PREDICT_BATCH, Prepared, SeriesBatches, SeriesNetwork, Summary
from liquidtime.training.devices import taken

_SERIES = 1024  # processed together
_PIECES = 1 << 25
"""Largest number of read-out pieces in memory at once, if it reads features of whole series."""


def outputs_at_steps(prepared: Prepared, networks: Sequence[SeriesNetwork]) -> Tensor:
    """Return (M, N, K) the outputs after each step.

    Args:
        prepared: the series, with the history of every step.
        networks: M members that read by one encoder, in evaluation, on the device of the series.
    """
    out = torch.zeros(len(networks), int(prepared.offsets[-1]), networks[0].read_out.out_features)
    batch_size = PREDICT_BATCH
    if prepared.summary is not None:  # the pieces of every step are many
        longest = max(1, int(prepared.lengths.max(initial=0)))
        batch_size = max(1, min(batch_size, _PIECES // (longest * networks[0].pieces.pieces)))
    for batch in SeriesBatches(prepared, batch_size):
        step = torch.arange(batch.dt.shape[1])
        inside = step < batch.counts.unsqueeze(1)  # (B, T)
        steps = (batch.first.unsqueeze(1) + step)[inside]
        for member, network in enumerate(networks):
            out[member, steps] = taken(network.prefixes(*batch[:5]), inside).cpu()
    return out


def outputs_at_samples(scale: ScaleStep, data: SeriesSet, summary: Summary | None = None) -> Tensor:
    """Return (M, N, K) the outputs after each sample: those of a series that ends there, its last bin as it stands.

    The series are processed together, one sample of each at a time, as in the step of a live series.

    Args:
        scale: the members that read at one scale.
        data: S series, every sample as it is, with the channels of training.
        summary: features of whole series for the read-out, or None.
    """
    K = scale.networks[0].read_out.out_features
    out = torch.zeros(len(scale.networks), len(data.times), K)
    static = torch.from_numpy(scale.encoder.encode_static(data.static))
    order = np.argsort(-data.lengths, kind="stable")  # longest first: those with samples left come first
    order = order[: int((data.lengths > 0).sum())]
    for low in range(0, len(order), _SERIES):
        rows = order[low : low + _SERIES]
        lengths, first, features = data.lengths[rows], data.offsets[rows], static[torch.from_numpy(rows)]
        state = scale.start(len(rows))
        for k in range(int(lengths[0])):
            B = int((lengths > k).sum())
            if len(state.samples.time) > B:
                state = state.head(B)
            samples = first[:B] + k
            after, step = scale.encode(state, data.times[samples], data.values[samples])
            if summary is not None:
                own = summary.at_ends(data[rows[:B]].head(k + 1))
                step = step._replace(history=np.concatenate([step.history, own], axis=1))
            state, outputs = scale.advance(state, after, step, features[:B])
            out[:, torch.from_numpy(samples)] = outputs
    return out
