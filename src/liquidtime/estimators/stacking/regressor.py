from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from liquidtime.data import SeriesSet
from liquidtime.estimators.faces.intervals import Residuals
from liquidtime.estimators.faces.regressor import CfCRegressor, checked_values
from liquidtime.estimators.stacking.base import Floats, StackedEstimator
from liquidtime.estimators.stacking.goal import Goal, Values


class StackedRegressor(RegressorMixin, StackedEstimator):  # type: ignore[misc]
    """Predict one or more numbers for each irregular series with several models that make different errors.

        StackedRegressor().fit(data, y, groups=machine).predict(new)           y (S,) or (S, W)

    The parts are those of `StackedClassifier`. Their weights minimise the squared error out of fold, with each target
    in units of its standard deviation.

    Args:
        n_networks: number of CfC networks, which use the time scales in turn.
        n_splits: number of folds, in which parts are scored on series that they were not fitted to; None: 5, or 3 for
            networks on many series.
        random_state: random seed, numpy RandomState, or None for a different result each time.
        n_jobs: number of processes that train networks and folds, each with one thread; -1 for one per core;
            see `CfCClassifier`.
        device: device on which networks are trained and whole series predicted: "cpu", "cuda", "mps" or "auto";
            see `CfCClassifier`.
        verbose: whether to show a progress line while networks are trained.

    Attributes:
        n_outputs_: W of targets (S, W); 0 for (S,).
        scale_: scale on which parts were fitted and weighted: each target itself, or its logarithm.
        parts_: name, weight and out-of-fold figures of each part.
        figures_: out-of-fold figures of the stack.
        residuals_: errors of out-of-fold predictions, for `predict_interval`; None if nothing was held out.
        cfc_: the networks, a fitted `CfCRegressor`.
        seed_: the random seed that was used.
    """

    _face: ClassVar = CfCRegressor

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        order: Any = None,
        auxiliary: Any = None,
        folder: str | Path | None = None,
        resume: bool = False,
    ) -> StackedRegressor:
        """Fit to series X with their targets y.

        Args:
            X: a `SeriesSet`, (S, T), (S, T, C), or a list of (times, values).
            y: (S,) or (S, W).
            sample_weight: (S,) weight of each series, in training and in the choice of the parts' weights; None for
                equal weights.
            groups: (S,) group of each series; a group is never on both sides of a fold. None for no groups.
            order: (S,) date or order of each series, so that parts are scored on later series than they were fitted
                to; None for no order.
            auxiliary: auxiliary targets of the networks, as `CfCRegressor.fit` takes them.
            folder: folder for checkpoints and the log of the networks.
            resume: resume the run in `folder`.
        """
        each = {"sample_weight": sample_weight, "groups": groups, "order": order, "auxiliary": auxiliary}
        self._fit(X, y, each, folder, resume)
        return self

    def _goal(self, y: Any, data: SeriesSet) -> Goal:
        target = checked_values(y, data)
        self.n_outputs_ = 0 if target.ndim == 1 else target.shape[1]
        return Values(target.reshape(len(target), -1), target.ndim == 1)

    def _learn_held_out(self, goal: Goal, answer: Floats | None) -> None:
        assert isinstance(goal, Values)
        self.residuals_ = None if answer is None else Residuals.of(goal.table - goal.scale.unscaled(answer))

    def _learned(self) -> dict[str, Any]:
        return {} if self.residuals_ is None else {"residuals": self.residuals_.stored()}

    def _relearn(self, facts: Mapping[str, Any]) -> None:
        stored = facts.get("residuals")
        self.residuals_ = None if stored is None else Residuals.restored(stored, max(1, self.n_outputs_))

    def _weigh(self, goal: Goal, held_out: Mapping[str, Floats]) -> None:
        super()._weigh(goal, held_out)
        assert isinstance(goal, Values)
        self.scale_ = goal.scale

    def _keep_scale(self, goal: Goal) -> None:
        assert isinstance(goal, Values)
        goal.scale = self.scale_

    def _scaled(self, outputs: Floats) -> Floats:
        return self.scale_.scaled(outputs)

    def _unscaled(self, outputs: Floats) -> Floats:
        return self.scale_.unscaled(outputs)

    def _restore(self, cfc: Any) -> None:
        super()._restore(cfc)
        self.n_outputs_ = cfc.n_outputs_

    def _network_outputs(self, series: Any) -> Floats:
        values: Floats = self.cfc_.predict(series)
        return values.reshape(len(values), -1)

    def predict(self, X: Any) -> Floats:
        """Return (S,) or (S, W) the predicted values."""
        return self._shaped(self._outputs(X))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends of intervals, each shaped as `predict` returns values.

        Args:
            X: series like those of `fit`.
            coverage: share of true values that the intervals are to hold, in (0, 1).

        Raises:
            ValueError: the model was fitted to too few series to hold some out, or no such share.

        """
        check_is_fitted(self, "cfc_")
        if self.residuals_ is None:
            raise ValueError("the model has no intervals: too few series were given to `fit` to hold some out")
        return self.residuals_.around(self.predict(X), coverage)

    def _shaped(self, outputs: Floats) -> Floats:
        return outputs[:, 0] if self.n_outputs_ == 0 else outputs

    def update(self, id: Any, t: Any, values: Any, *, static: Mapping[str, Any] | None = None) -> Any:
        """Take one sample of the live series `id` and return its prediction, a number or (W,), from all so far.

        As `StackedClassifier.update`.
        """
        answer = self._update(id, t, values, static)
        return float(answer[0]) if self.n_outputs_ == 0 else answer
