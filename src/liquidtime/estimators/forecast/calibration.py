"""Which series a forecaster's mixture is chosen on, what they are asked for, and how far ahead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from liquidtime.data import SeriesSet
from liquidtime.estimators.forecast.lesson import Draw, Scene, answers_of
from liquidtime.estimators.forecast.network import ForecastNetwork, parts_of
from liquidtime.estimators.network import PREDICT_BATCH, Prepared, SeriesBatches

Values = npt.NDArray[np.float64]
_FEWEST, _HELD, _HEAD = 10, 0.2, 0.7
_CUTS, _QUESTIONS, _SERIES = 8, 16, 500
_WINDOW = 512


def held_out(data: SeriesSet, seed: int) -> tuple[SeriesSet, SeriesSet, float]:
    """Return series to train on, series to try the network on, and the share of the latter that training has seen.

    A fifth of the series is held out: the latest where the series have time stamps, else drawn at random. Of fewer than
    ten the end of each is.

    Args:
        data: the training series.
        seed: of the draw.
    """
    some = np.flatnonzero(data.lengths >= 2)
    if len(some) < _FEWEST:
        heads = np.maximum((data.lengths * _HEAD).astype(np.int64), np.minimum(data.lengths, 2))
        return data.head(heads), data, _HEAD
    rng = np.random.default_rng(seed)
    order = rng.permutation(some)
    if data.origins is not None and data.origins.dtype.kind == "M":
        order = some[np.argsort(data.origins[some], kind="stable")]
    held = order[len(order) - max(2, round(_HELD * len(order))) :]
    return data[np.setdiff1d(np.arange(len(data)), held)], data[np.sort(held)], 0.0


def usual_horizon(data: SeriesSet) -> float:
    """Return how far ahead the last quarter of most series' samples lies, in the set's unit."""
    spans = []
    for begin, end in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        if end - begin >= 2:
            cut = begin + max(1, int(0.75 * (end - begin))) - 1
            spans.append(data.times[end - 1] - data.times[min(cut, end - 2)])
    return float(np.quantile(spans, 0.9))


def windows(data: SeriesSet) -> SeriesSet:
    """Return the set with series of over 512 samples cut into overlapping windows, each a series of its own."""
    if not (data.lengths > _WINDOW).any():
        return data
    spans: list[tuple[int, int, int]] = []
    for series, (begin, end) in enumerate(zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)):
        starts: Sequence[int] = [begin]
        if end - begin > _WINDOW:
            count = -(-2 * (end - begin - _WINDOW) // _WINDOW) + 1
            starts = np.linspace(begin, end - _WINDOW, count).astype(np.int64).tolist()
        spans += [(series, start, min(start + _WINDOW, end)) for start in starts]
    rows = np.concatenate([np.arange(begin, end) for _, begin, end in spans])
    owners = np.array([series for series, _, _ in spans])
    return data.replace_unchecked(
        offsets=np.concatenate([[0], np.cumsum([end - begin for _, begin, end in spans])]).astype(np.int64),
        times=data.times[rows],
        values=data.values[rows],
        ids=np.arange(len(spans)),
        static=data.static[owners],
        origins=None if data.origins is None else data.origins[owners],
    )


def tried(
    network: ForecastNetwork, prepared: Prepared, lesson: Tensor, scene: Scene, reach: float, start: float
) -> tuple[Values, Values, Values]:
    """Return (n, C, J) the parts of forecasts of series held out, (n, C) the truth, (n, C) time since the last value.

    Args:
        network: not trained on them.
        prepared: the series.
        lesson: of their steps.
        scene: how they are read.
        reach: largest scaled gap.
        start: share of their steps that training has seen.
    """
    every = max(1, len(prepared) // _SERIES)
    found: list[tuple[Tensor, ...]] = []
    with torch.inference_mode():
        for sample in SeriesBatches(prepared, PREDICT_BATCH, np.arange(0, len(prepared), every)):
            cuts = _CUTS if start == 0.0 else _CUTS * _QUESTIONS
            draw = Draw.of(sample, cuts, _QUESTIONS, reach, random=False, start=start, power=2.0)
            anchors, asked, truth, counts = answers_of(draw, sample, lesson, scene)
            context = network.contexts(*sample[:5], draw.cut).flatten(0, 1)
            parts = parts_of(network.decode(context, anchors, asked), anchors, asked)
            s = anchors.since.unsqueeze(1) + asked.gap.unsqueeze(-1)
            truth = torch.where(counts, truth, torch.nan)
            found.append((parts.flatten(0, 1), truth.flatten(0, 1), s.flatten(0, 1)))
    said, measured, since = (torch.cat(each).double().numpy() for each in zip(*found, strict=True))
    return said, measured, since
