"""Gradient boosting on a summary of each channel: what a sequence model must beat to earn its place."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from liquidtime.baselines.classical import RATE, SummaryBoosting
from liquidtime.paper.fitting import Outcome, Settings, Trial
from liquidtime.paper.models.observed import joined, observed


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

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Fit on the training and the validation part, since nothing is chosen on it, and judge on the test part.

        Args:
            trial: its seed is that of the binning.
            settings: not read; a row of this model has none.

        """
        begun = time.perf_counter()
        known = trial.known
        model = SummaryBoosting("classify", trial.seed, self.trees)
        model.fit(joined(known), np.concatenate([part.y for part in known]))
        seconds = time.perf_counter() - begun
        return Outcome(
            prediction=model.predict_proba(observed(trial.split.test)),
            weights=0,
            train_settings={"trees": self.trees, "learning_rate": RATE},
            figures={"fit_seconds": seconds},
        )
