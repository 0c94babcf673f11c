"""The estimator with its defaults in an experiment: what a person gets without reading the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from liquidtime.estimators import CfCClassifier
from liquidtime.paper.datasets import Sequences
from liquidtime.paper.fitting import Outcome, Run
from liquidtime.paper.observed import joined, observed
from liquidtime.paper.settings import Settings


@dataclass(frozen=True)
class EstimatorModel:
    """`CfCClassifier` on the raw measurements.

    Attributes:
        title: as our tables write it.
        paper: none of the paper's tables has it.
        members: networks that answer together.
        static: so many of the first channels are told once, at admission.
        kinds: the last of these is one of so many kinds of ward.
        along: whether the further outcomes of the training stays are learned along.

    """

    title: str = "CfCClassifier, its defaults"
    paper: tuple[str, ...] = ()
    members: int = 1
    static: int = 4
    kinds: int = 4
    along: bool = False

    def fit(self, run: Run, settings: Settings | None) -> Outcome:
        """Fit on the training and the validation part, since the defaults choose no epoch, and judge on the test part.

        Args:
            run: its data must not be scaled; the estimator does that.
            settings: not read; a row of this model has none.

        """
        known = [part for name, part in run.split.parts().items() if name != "test"]
        model = CfCClassifier(n_estimators=self.members, random_state=run.seed)
        model.fit(
            joined(known, self.static, self.kinds),
            np.concatenate([part.y for part in known]),
            auxiliary=np.concatenate([_further(part) for part in known]) if self.along else None,
        )
        first = model.results_[0]
        return Outcome(
            model.predict_proba(observed(run.split.test, self.static, self.kinds)),
            first.history,
            first.epochs,
            None,
            None,
            "finished",
            sum(parameter.numel() for network in model.networks_ for parameter in network.parameters()),
            {name: value for name, value in model.get_params().items() if isinstance(value, str | int | float)},
        )


def _further(part: Sequences) -> Tensor:
    if part.further is None:
        raise ValueError("`along` needs a data set with further outcomes; this one has none.")
    return part.further
