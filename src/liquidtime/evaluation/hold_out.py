from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from liquidtime.data import SeriesSet

Rows = npt.NDArray[np.int64]
FEWEST = 4
"""Series that can be split; of fewer, each is split in time."""
_WINDOW, _MOST, _LEAST = 32, 20, 24


def hold_out(S: int, share: float, seed: int, classes: Any = None) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to test on, in order.

    Args:
        S: number of series.
        share: of the series to test on, in (0, 1).
        seed: of the draw.
        classes: (S,) labels of which both parts are to have their share; None draws from all alike.

    Raises:
        ValueError: too few series, or a class with too few of them.

    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`test_share` must be between 0 and 1; got {share!r}")
    held = int(np.ceil(share * S))
    if S < FEWEST or S - held < 2:
        raise ValueError(f"`data` must have series to train on and to test on; got {S} with `test_share` {share:g}")
    if classes is not None:
        labels, counts = np.unique(classes, return_counts=True)
        rare = counts < 2
        if rare.any():
            raise ValueError(
                f"`target` must have at least 2 series of each class, to train on and to test on; class "
                f"{labels[rare][0]} has 1 ({int(rare.sum())} such classes). Leave such series out or join classes."
            )
        if held < len(labels) or S - held < len(labels):
            raise ValueError(
                f"`test_share` must leave each of {len(labels)} classes a series in both parts; {share:g} of {S} "
                f"series is {held}"
            )
    train, test = train_test_split(np.arange(S), test_size=share, random_state=seed, stratify=classes)
    return np.sort(train), np.sort(test)


def hold_out_ends(data: SeriesSet, share: float) -> tuple[SeriesSet, Rows, Rows]:
    """Cut each of a few long series in time: its beginning to train on, windows of its end to test on.

    Args:
        data: the series.
        share: of the samples of each to test on, the last ones, in (0, 1).

    Returns:
        the pieces as a set of series, and which of them are to train and to test on.

    Raises:
        ValueError: a share that is none, or a series of too few samples.

    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"`test_share` must be between 0 and 1; got {share!r}")
    spans: list[tuple[int, int, int]] = []
    ids: list[str] = []
    for series, length in enumerate(data.lengths.tolist()):
        begin, held = int(data.offsets[series]), int(np.ceil(share * length))
        if length < _LEAST or held < 4 or length - held < 4:
            raise ValueError(
                f"`data` must have at least {FEWEST} series, or series of at least {_LEAST} samples to split in time; "
                f"got {len(data)}, and series {data.ids[series]} has {length} samples with `test_share` {share:g}"
            )
        spans.append((series, begin, begin + length - held))
        ids.append(f"{data.ids[series]}")
        edges = np.linspace(length - held, length, min(_MOST, max(1, held // _WINDOW)) + 1).astype(np.int64).tolist()
        for place, (low, high) in enumerate(itertools.pairwise(edges), 1):
            spans.append((series, begin + low, begin + high))
            ids.append(f"{data.ids[series]} test {place}")
    rows = np.concatenate([np.arange(low, high) for _, low, high in spans])
    owners = np.array([series for series, _, _ in spans])
    pieces = data.replace_unchecked(
        offsets=np.concatenate([[0], np.cumsum([high - low for _, low, high in spans])]).astype(np.int64),
        times=data.times[rows],
        values=data.values[rows],
        ids=np.array(ids),
        static=data.static[owners],
        origins=None if data.origins is None else data.origins[owners],
    )
    first = np.concatenate([[True], owners[1:] != owners[:-1]])
    return pieces, np.flatnonzero(first), np.flatnonzero(~first)
