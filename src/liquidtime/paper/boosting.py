"""Gradient boosting on a summary of each channel: what a sequence model must beat to earn its place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime.datasets import Sequences
from liquidtime.paper.fitting import Outcome, Run
from liquidtime.paper.settings import Settings


@dataclass(frozen=True)
class BoostingModel:
    """Trees on per-channel mean, minimum, maximum, first, last, count and deviation of what was observed.

    Attributes:
        title: as our tables write it.
        paper: none of the paper's tables has it.
        trees: boosting rounds.

    """

    title: str = "gradient boosting on summaries"
    paper: tuple[str, ...] = ()
    trees: int = 300

    def fit(self, run: Run, settings: Settings | None) -> Outcome:
        """Fit on the training and the validation part, since nothing is chosen on it, and judge on the test part.

        Args:
            run: its seed is that of the binning.
            settings: not read; a row of this model has none.

        """
        from sklearn.ensemble import HistGradientBoostingClassifier

        begun = time.perf_counter()
        model = HistGradientBoostingClassifier(max_iter=self.trees, early_stopping=False, random_state=run.seed)
        known = [part for name, part in run.split.parts().items() if name != "test"]
        model.fit(np.concatenate([summaries(part) for part in known]), np.concatenate([part.y for part in known]))
        seconds = time.perf_counter() - begun
        return Outcome(
            model.predict_proba(summaries(run.split.test)),
            [],
            0,
            None,
            None,
            "finished",
            0,
            {"trees": self.trees},
            {"fit_seconds": seconds},
        )


def summaries(part: Sequences) -> npt.NDArray[Any]:
    """Return (N, 7·C): mean, minimum, maximum, first, last, count and deviation of each channel; NaN where never seen.

    Args:
        part: with a mask (N, T, C); the first C inputs are the values.

    """
    if part.mask is None:
        raise ValueError("summaries need a data set with a mask of what was observed.")
    seen = part.mask.numpy()
    values = np.where(seen, part.x[..., : seen.shape[2]].numpy().astype(np.float64), np.nan)
    count = seen.sum(axis=1)
    some = np.maximum(count, 1)
    total = np.nansum(values, axis=1)
    mean = total / some
    squares = np.nansum((values - mean[:, None]) ** 2, axis=1)
    low = np.where(seen, values, np.inf).min(axis=1)
    high = np.where(seen, values, -np.inf).max(axis=1)
    first = np.take_along_axis(values, seen.argmax(axis=1)[:, None], axis=1)[:, 0]
    last = np.take_along_axis(values, (seen.shape[1] - 1 - seen[:, ::-1].argmax(axis=1))[:, None], axis=1)[:, 0]
    columns = [mean, low, high, first, last, count.astype(np.float64), np.sqrt(squares / some)]
    never = count == 0
    return np.concatenate(
        [column if i == 5 else np.where(never, np.nan, column) for i, column in enumerate(columns)], axis=1
    )
