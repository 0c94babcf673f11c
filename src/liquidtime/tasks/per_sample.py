"""Targets of every sample, as one array per series, so that they are split together with the series."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet


def by_series(target: Any, data: SeriesSet) -> Any:
    """Return a target with one entry per sample as S arrays, one per series; other targets are returned unchanged.

    Args:
        target: (N,) one entry per sample, where N differs from S; or a list or an array of S arrays.
        data: S series of N samples.
    """
    if target is None:
        return None
    if of_samples(target):
        return _together([np.asarray(part) for part in target])
    flat = target.to_numpy() if hasattr(target, "to_numpy") else np.asarray(target)
    if flat.ndim == 1 and len(flat) == int(data.offsets[-1]) != len(data):
        return _together([flat[begin:end] for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True)])
    return target


def of_samples(target: Any) -> bool:
    """Return whether a target has one array per series."""
    nested = isinstance(target, list | tuple) or (isinstance(target, np.ndarray) and target.dtype == object)
    return nested and len(target) > 0 and all(isinstance(part, list | np.ndarray) for part in target)


def _together(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return arrays as the entries of one array, even if they have equal lengths."""
    together = np.empty(len(parts), dtype=object)
    for place, part in enumerate(parts):
        together[place] = part
    return together
