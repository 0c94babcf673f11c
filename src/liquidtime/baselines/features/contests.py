"""Competing kernels: the fraction of the points of a series at which each of a few kernels responds most, and least.

After Hydra (Dempster, Schmidt and Webb 2023), implemented independently with the kernels of `responses`. A single
kernel measures how strong a shape is at a point; a contest shows which of several shapes the series resembles most,
point by point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from liquidtime.baselines.features.resampling import Resampled
from liquidtime.baselines.features.responses import TRIPLES, FlatSeries, Singles, Triple

SIZE = 7
"""Kernels in a contest; for every view and dilation, each of the 84 kernels takes part in one contest."""
CONTEST_VIEWS = ("values", "differences", "own scale")
ENDS = ("strongest", "weakest")


@dataclass(frozen=True, eq=False)
class Contest:
    """Kernels of one view, dilation and sum of channels that are compared at every point."""

    view: str
    dilation: int
    triples: tuple[Triple, ...]
    channels: tuple[int, ...]


def drawn(C: int, dilations: Sequence[int], budget: int, seed: int) -> list[Contest]:
    """Return random contests.

    Args:
        C: number of channels to choose from.
        dilations: dilations of the kernels.
        budget: largest number of kernels in all contests together.
        seed: random seed.
    """
    random = np.random.default_rng([seed, 1])
    contests = []
    for view in CONTEST_VIEWS:
        for dilation in dilations:
            order = random.permutation(len(TRIPLES))
            for begin in range(0, len(order), SIZE):
                size = min(C, int(2 ** random.uniform(0, np.log2(C + 1))))
                channels = tuple(int(c) for c in np.sort(random.choice(C, size, replace=False)))
                triples = tuple(TRIPLES[place] for place in order[begin : begin + SIZE])
                contests.append(Contest(view, dilation, triples, channels))
    most = budget // SIZE
    if len(contests) > most:
        contests = [contests[place] for place in sorted(random.choice(len(contests), most, replace=False))]
    return contests


def outcomes(series: Resampled, contests: Sequence[Contest]) -> Singles:
    """Return (S, K) square roots of the fractions of points at which each kernel is the strongest, and the weakest.

    Args:
        series: S series on a regular grid.
        contests: the contests; those with the same view and dilation are next to each other.
    """
    columns: list[Singles] = []
    flat: FlatSeries | None = None
    for contest in contests:
        if flat is None or not flat.serves(contest.view, contest.dilation):
            flat = FlatSeries(series, contest.view, contest.dilation)
        responses = np.stack([flat.response(triple, contest.channels) for triple in contest.triples])
        for winners in (responses.argmax(axis=0), responses.argmin(axis=0)):
            won = (winners == np.arange(len(contest.triples))[:, None]) & flat.inside
            columns.extend(np.sqrt(flat.sums(won.astype(np.float32)) / series.counts))
    if not columns:
        return np.empty((len(series.counts), 0), dtype=np.float32)
    return np.stack(columns, axis=1).astype(np.float32)


def names_of(contests: Sequence[Contest]) -> list[str]:
    """Return the names of the columns of contests."""
    return [
        f"share of kernel {place + 1} as the {end} in contest {number}"
        for number, contest in enumerate(contests)
        for end in ENDS
        for place in range(len(contest.triples))
    ]
