from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from liquidtime.baselines.classical import Guess, SummaryBoosting
from liquidtime.data import SeriesSet, check_values
from liquidtime.estimators import CfCRegressor, StackedRegressor
from liquidtime.tasks.comparison import BOOSTING, Comparison, compared, networks_alone
from liquidtime.tasks.per_sample import of_samples
from liquidtime.tasks.prediction_table import Columns
from liquidtime.tasks.row_times import rows_of_samples
from liquidtime.tasks.series_view import SeriesView, evolution_of, extremes
from liquidtime.tasks.task import Part, Task

COVERAGE = 0.9
"""Share of values that prediction intervals should contain by default."""
_ENDS = ("low", "high")


class Regression(Task):
    """One or more numbers per series."""

    name: ClassVar = "regress"
    title: ClassVar = "Regression"
    estimators: ClassVar = (CfCRegressor, StackedRegressor)
    stacked: ClassVar = StackedRegressor
    metrics: ClassVar = ("mae", "rmse", "mse", "r2")
    plots: ClassVar = ("residuals", "value_calibration")
    options: ClassVar = ("intervals",)

    def suggested_by(self, target: Any) -> str:  # noqa: D102
        if target is None or of_samples(target) or np.asarray(target).dtype.kind not in "fiuO":
            return ""
        return "the targets are numbers"

    def check_target(self, target: Any, S: int) -> npt.NDArray[np.float64]:  # noqa: D102
        return check_values(target, S)

    def check_estimator(self, model: Any) -> None:
        """Refuse targets per sample: the test, the baselines and the tables have one target per series."""
        if getattr(model, "per_step", False):
            raise ValueError("`per_step` is not for this task, which has one target per series; fit the model itself")

    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> Comparison:
        """Compare values with those of gradient boosting and of the mean."""
        data, y = test
        target = np.asarray(y, dtype=np.float64)
        series = model.encode(data)
        predictions = {name: model.predict(series), **networks_alone(model, series)}
        if train is not None:
            rivals = {BOOSTING: SummaryBoosting(self.name, seed), "guess (mean)": Guess(self.name)}
            for rival, unfitted in rivals.items():
                predictions[rival] = _columnwise(unfitted, train, data)
        extras = {}
        if model.residuals_ is not None:
            extras = dict(zip(_ENDS, model.residuals_.around(predictions[name], COVERAGE), strict=True))
        return compared(self.metrics, target, predictions, series, seed, extras=extras, coverage=COVERAGE)

    def predict(self, model: Any, data: SeriesSet, *, intervals: float | None = None, **options: Any) -> Columns:
        """Return the predicted number, or one column per number, with the ends of intervals.

        Args:
            model: fitted model.
            data: series.
            intervals: share of values that the intervals should contain; None for 0.9 if the model has intervals.
            **options: none.
        """
        values = model.predict(data)
        columns = _numbered("prediction", values)
        if model.residuals_ is None and intervals is not None:
            raise ValueError("the model has no intervals; train it with `intervals`, or as a stacked model")
        if model.residuals_ is not None:
            ends = model.residuals_.around(values, COVERAGE if intervals is None else intervals)
            for name, end in zip(_ENDS, ends, strict=True):
                columns |= _numbered(name, end)
        return {"": data.ids, **columns}

    def predict_each_sample(  # noqa: D102
        self, model: Any, data: SeriesSet, *, intervals: float | None = None, **options: Any
    ) -> Columns:
        if intervals is not None:
            raise ValueError(
                "`intervals` are for predictions from whole series; leave them out for predictions after each sample"
            )
        evolution = model.evolve(data)
        outputs = evolution.outputs if evolution.outputs.shape[1] > 1 else evolution.outputs[:, 0]
        return {**rows_of_samples(data, evolution), **_numbered("prediction", outputs)}

    def tested(self, model: Any, comparison: Comparison) -> Columns:  # noqa: D102
        assert comparison.series is not None
        prediction = comparison.predictions[comparison.name]
        columns = {**_numbered("truth", comparison.target), **_numbered("prediction", prediction)}
        for name, end in comparison.extras.items():
            columns |= _numbered(name, end)
        return {"": comparison.series.data.ids, **columns}

    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return series with the predicted numbers over time."""
        assert comparison.series is not None
        prediction, target = comparison.predictions[comparison.name], comparison.target
        data = comparison.series.data
        errors = np.abs(prediction - target).reshape(len(prediction), -1).mean(axis=1)
        kinds, rows = extremes(errors, data.lengths)
        evolution = evolution_of(model, comparison.series[rows]) if rows else None
        views = []
        for place, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
            assert evolution is not None
            one = data[row]
            steps = slice(evolution.offsets[place], evolution.offsets[place + 1])
            outcome = f"truth {_number(target[row])}, prediction at the end {_number(prediction[row])}"
            views.append(
                SeriesView(
                    kind, str(one.id), outcome, one.times, one.values, data.channels, evolution.times[steps],
                    evolution.outputs[steps], truth=float(target[row]) if target.ndim == 1 else None,
                )
            )  # fmt: skip
        return views


def _columnwise(rival: Any, train: Part, data: SeriesSet) -> npt.NDArray[np.float64]:
    """Return the predictions of a baseline that is fitted to each column of the target separately."""
    series, y = train
    target = np.asarray(y, dtype=np.float64)
    if target.ndim == 1:
        values: npt.NDArray[np.float64] = rival.fit(series, target).predict(data)
        return values
    return np.stack([rival.fit(series, column).predict(data) for column in target.T], axis=1)


def _numbered(name: str, values: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[np.float64]]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{place}": values[:, place] for place in range(values.shape[1])}


def _number(value: Any) -> str:
    return ", ".join(f"{item:.4g}" for item in np.ravel(value))
