"""The drives in windows of one length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from liquidtime.paper.datasets import Sequences, Split, driving

WINDOW = 64
"""Images of a window, about 7 s."""


def load(data_dir: str | Path | None = None, *, window: int = WINDOW, **options: Any) -> Split:
    """Return the drives, see `datasets.driving`; validation and test without their last, shorter window.

    The windows of a run follow one another, so that a network can be taken along the whole run. Errors of windows are
    what the bootstrap draws from.
    """
    split = driving(data_dir, window=window, **options)
    held = None if split.validation is None else _whole(split.validation, window)
    return Split(split.train, held, _whole(split.test, window))


def _whole(part: Sequences, window: int) -> Sequences:
    return part.take((part.lengths == window).nonzero()[:, 0])
