from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

Rows = npt.NDArray[np.int64]


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
    if S < 4 or S - held < 2:
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
