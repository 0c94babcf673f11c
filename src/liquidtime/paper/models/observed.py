"""Convert sequences of an experiment to a set of series for estimators."""

from __future__ import annotations

import dataclasses

import numpy as np

from liquidtime.data import SeriesSet
from liquidtime.paper.datasets import Sequences
from liquidtime.paper.datasets.physionet2012 import TIME_UNIT


def observed(part: Sequences, static: int = 0, kinds: tuple[str, ...] = ()) -> SeriesSet:
    """Return the observed values at their times since the first sample; NaN where nothing was observed.

    Args:
        part: part with a mask (N, T, C) and positive intervals; the first C inputs are the values.
        static: number of channels, the first ones, that do not change; their first values become static features.
        kinds: names of the categories of the last static feature, counted from 1; empty if it is a number.

    """
    if part.mask is None:
        raise ValueError("`part` must have a mask of what was observed; this data set has none.")
    dt = part.dt.numpy().astype(np.float64)
    inside = np.arange(dt.shape[1]) < part.lengths.numpy()[:, None]
    if (dt[:, 1:] <= 0)[inside[:, 1:]].any():
        raise ValueError("`part` must have positive intervals; these are not the time since the previous sample.")
    seen = part.mask.numpy()
    values = np.where(seen, part.x[..., : seen.shape[2]].numpy(), np.nan)
    once = seen[..., :static]
    first = np.take_along_axis(values[..., :static], once.argmax(axis=1)[:, None], axis=1)[:, 0]
    if kinds:
        first[:, -1] -= 1  # categories are counted from 0
    series = SeriesSet.from_arrays(
        values[..., static:],
        np.cumsum(dt, axis=1),
        lengths=part.lengths.numpy(),
        ids=part.ids.numpy(),
        static=first if static else None,
        time_unit=TIME_UNIT,
    )
    return dataclasses.replace(series, categories={series.static_names[-1]: kinds}) if kinds else series


def joined(parts: list[Sequences], static: int = 0, kinds: tuple[str, ...] = ()) -> SeriesSet:
    """Return several parts as one set."""
    return SeriesSet.concatenate([observed(part, static, kinds) for part in parts])
