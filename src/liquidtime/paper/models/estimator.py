"""The estimator with its defaults in an experiment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from liquidtime.datasets.physionet2012_sample import STATIC
from liquidtime.estimators import CfCClassifier
from liquidtime.paper.datasets import Sequences
from liquidtime.paper.datasets.physionet2012 import WARDS
from liquidtime.paper.fitting import Outcome, Settings, Trial, count_weights
from liquidtime.paper.models.observed import joined, observed


@dataclass(frozen=True)
class EstimatorModel:
    """`CfCClassifier` on the raw measurements, with the quick budget.

    Attributes:
        title: title in our tables.
        paper: empty, as no table of the paper has it.
        members: number of networks in the ensemble.
        static: number of channels, the first ones, that are measured once at admission.
        kinds: names of the wards, which are the categories of the last of these.
        auxiliary: whether the other outcomes of the training stays are auxiliary targets.

    """

    title: str = "CfCClassifier, defaults"
    paper: tuple[str, ...] = ()
    members: int = 1
    static: int = len(STATIC)
    kinds: tuple[str, ...] = WARDS
    auxiliary: bool = False

    def fit(self, trial: Trial, settings: Settings | None) -> Outcome:
        """Fit on the training and the validation part, as no epoch is chosen, and test on the test part.

        Args:
            trial: trial, whose data must not be scaled, as the estimator scales them.
            settings: ignored; a row of this model has none.

        """
        known = trial.known
        model = CfCClassifier(n_estimators=self.members, budget="quick", random_state=trial.seed)
        model.fit(
            joined(known, self.static, self.kinds),
            np.concatenate([part.y for part in known]),
            auxiliary=np.concatenate([_further(part) for part in known]) if self.auxiliary else None,
        )
        first = model.results_[0]
        return Outcome(
            prediction=model.predict_proba(observed(trial.split.test, self.static, self.kinds)),
            weights=count_weights(*model.networks_),
            train_settings={
                name: value for name, value in model.get_params().items() if isinstance(value, str | int | float)
            },
            history=first.history,
            epochs=first.epochs,
        )


def _further(part: Sequences) -> Tensor:
    if part.further is None:
        raise ValueError("`auxiliary` needs a data set with further outcomes; this one has none.")
    return part.further
