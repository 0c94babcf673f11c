"""Gradient boosting on a summary of each channel, the baseline that a sequence model should beat."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from liquidtime.baselines.classical import RATE, SummaryBoosting
from liquidtime.paper.fitting import Outcome, Settings, Trial
from liquidtime.paper.models.observed import joined, observed


@dataclass(frozen=True)
class BoostingModel:
    """`SummaryBoosting` on the observed values.

    Attributes:
        title: title in our tables.
        paper: empty, as no table of the paper has it.
        trees: number of boosting rounds.

    """

    title: str = "gradient boosting on summaries"
    paper: tuple[str, ...] = ()
    trees: int = 300

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Fit on the training and the validation part, as nothing is chosen on the latter, and test on the test part.

        Args:
            trial: trial, whose seed is used for binning.
            settings: ignored; a row of this model has none.

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
