"""Gradient boosting on a summary of each channel: what a sequence model must beat to earn its place."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from liquidtime.baselines.classical import RATE, SummaryBoosting
from liquidtime.paper.fitting import Outcome, Run
from liquidtime.paper.observed import joined, observed
from liquidtime.paper.settings import Settings


@dataclass(frozen=True)
class BoostingModel:
    """`SummaryBoosting` of what was observed.

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
        begun = time.perf_counter()
        known = [part for name, part in run.split.parts().items() if name != "test"]
        model = SummaryBoosting("classify", run.seed, self.trees)
        model.fit(joined(known), np.concatenate([part.y for part in known]))
        seconds = time.perf_counter() - begun
        return Outcome(
            model.predict_proba(observed(run.split.test)),
            [],
            0,
            None,
            None,
            "finished",
            0,
            {"trees": self.trees, "learning_rate": RATE},
            {"fit_seconds": seconds},
        )
