"""Fewer features for trees: those that tell most of the target each by itself, without near copies of one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.features.segments import Floats, Integers

COPY = 0.98
"""Correlation of ranks from which a feature counts as a copy of a better one."""
PARTS = 8
"""Equal parts that a target of numbers is cut into."""


def screened(X: Floats, y: npt.NDArray[Any], task: str, most: int) -> Integers:
    """Return the positions, rising, of at most `most` columns.

    A feature is scored by how much of the variance of its rank, of the rank's distance from the middle, and of its
    being unknown, lies between the classes (for numbers: between equal parts of the target).

    Args:
        X: (n, p) features, NaN where unknown.
        y: (n,) classes or values.
        task: "classify" or "regress".
        most: > 0.
    """
    n, p = X.shape
    target = np.asarray(y)
    if task == "regress":
        order = np.argsort(np.argsort(target, kind="stable"), kind="stable")
        codes = order * min(PARTS, n) // n
    else:
        codes = np.unique(target, return_inverse=True)[1]
    ranks = _ranks(X)
    score = _between(ranks, codes) + _between(np.abs(ranks), codes) + _between(np.isnan(X).astype(np.float32), codes)
    best = np.argsort(-score, kind="stable")
    best = best[: 3 * most]  # beyond these a copy more or less does not matter
    scale = np.sqrt((ranks[:, best] ** 2).mean(axis=0))
    scaled = ranks[:, best] / np.where(scale > 0, scale, 1.0)
    similar = np.abs(scaled.T @ scaled) / max(n, 1) > COPY
    chosen: list[int] = []
    for place in range(len(best)):
        if len(chosen) == most:
            break
        if not similar[place, chosen].any():
            chosen.append(place)
    return np.sort(best[chosen])


def _ranks(X: Floats) -> npt.NDArray[np.float32]:
    """Return (n, p) the ranks of each column in [-1, 1]; 0 for NaN. Equal values have equal ranks."""
    n, p = X.shape
    ranks = np.zeros((n, p), dtype=np.float32)
    for column in range(p):
        known = np.flatnonzero(~np.isnan(X[:, column]))
        values = X[known, column]
        ordered = np.sort(values)
        middle = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") - 1
        ranks[known, column] = middle / max(len(known) - 1, 1) - 1.0
    return ranks


def _between(values: npt.NDArray[np.float32], codes: Integers) -> Floats:
    """Return (p,) the share of each column's variance that lies between the classes."""
    counts = np.bincount(codes)
    members = (codes[:, None] == np.arange(len(counts))).astype(np.float32)
    means = (members.T @ values) / np.maximum(counts, 1)[:, None]
    centre = values.mean(axis=0)
    variance = ((values - centre) ** 2).mean(axis=0, dtype=np.float64)
    between = (counts[:, None] * (means - centre) ** 2).sum(axis=0, dtype=np.float64) / len(values)
    share: Floats = between / np.where(variance > 1e-12, variance, np.inf)
    return share
