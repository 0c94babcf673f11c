"""Sequences of an experiment as the set of series that estimators take."""

from __future__ import annotations

import dataclasses

import numpy as np

from liquidtime.data import SeriesSet
from liquidtime.paper.datasets import Sequences


def observed(part: Sequences, static: int = 0, kinds: int = 0) -> SeriesSet:
    """Return what was observed, at its time since the first sample, NaN for what was not.

    Args:
        part: with a mask (N, T, C) and positive intervals; the first C inputs are the values.
        static: so many of the first channels do not change; their first value becomes a static feature.
        kinds: the last static feature is no quantity but one of 1…`kinds`; 0 = it is a quantity.

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
    found = SeriesSet.from_arrays(
        values[..., static:],
        np.cumsum(dt, axis=1),
        lengths=part.lengths.numpy(),
        ids=part.ids.numpy(),
        static=first if static else None,
        time_unit="h",
    )
    if not kinds:
        return found
    labels = tuple(str(kind) for kind in range(1, kinds + 1))
    return dataclasses.replace(found, categories={found.static_names[-1]: labels})


def joined(parts: list[Sequences], static: int = 0, kinds: int = 0) -> SeriesSet:
    """Return several parts as one set."""
    return SeriesSet.concatenate([observed(part, static, kinds) for part in parts])
