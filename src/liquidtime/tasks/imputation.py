from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from liquidtime.data import SeriesSet
from liquidtime.data.container import sample_times
from liquidtime.estimators import CfCImputer
from liquidtime.estimators.faces.encoded_series import EncodedSeries
from liquidtime.estimators.forecast.both_directions import BETWEEN, NEAREST, WHOLE, hidden
from liquidtime.tasks.comparison import Comparison, figures_of, pooled_errors
from liquidtime.tasks.prediction_table import Columns
from liquidtime.tasks.row_times import told_times
from liquidtime.tasks.series_view import SeriesView, extremes
from liquidtime.tasks.task import Part, Task

LEVEL = 0.9
"""Share of values that tested prediction intervals should contain."""
_PLACES = {NEAREST: 1, BETWEEN: 2, WHOLE: 3}
"""Baselines, and their positions among the parts of the model's mixture."""


@dataclass(frozen=True, eq=False, repr=False)
class ImputationComparison(Comparison):
    """A comparison of filled gaps, and the gaps themselves.

    `target` and `predictions` are all hidden values, scaled; `series` are the series with the gaps.

    Args:
        whole: series without the gaps; None if they are not stored.
        rows: (V,) sample of each hidden value.
        places: (V,) channel of each hidden value, among those of the model.
        values: (V, 3) prediction and the ends of its interval, in the unit of the channel.
    """

    whole: SeriesSet | None = None
    rows: npt.NDArray[np.int64] | None = None
    places: npt.NDArray[np.int64] | None = None
    values: npt.NDArray[np.float64] | None = None

    def plain(self) -> ImputationComparison:
        """Return the figures and predictions without the series."""
        return replace(self, series=None, whole=None, rows=None, places=None, values=None)


class Imputation(Task):
    """Values of the series at any time, such as missing ones."""

    name: ClassVar = "impute"
    title: ClassVar = "Filling gaps"
    estimators: ClassVar = (CfCImputer,)
    metrics: ClassVar = ("mse", "mae")
    has_target: ClassVar = False
    takes_auxiliary: ClassVar = False
    explained: ClassVar = False
    in_pieces: ClassVar = True
    unnamed_target: ClassVar = "every channel"
    unit: ClassVar = "in standard deviations"
    options: ClassVar = ("intervals",)

    def suggested_by(self, target: Any) -> str:
        """Return "": without a target, the task is to forecast unless this one is named."""
        return ""

    def check_target(self, target: Any, S: int) -> None:
        """Refuse any target, because the series are their own targets."""
        if target is not None:
            raise ValueError("`target` must be left out to fill gaps: the series are their own targets")

    def compare(self, model: Any, name: str, train: Part | None, test: Part, seed: int = 0) -> ImputationComparison:
        """Hide values of the test series, some as a run of samples and some one by one, and compare predictions.

        Figures are means over the series, and so are their confidence intervals.
        """
        whole = model._in_training_form(test[0])
        gone = hidden(whole, model._places, seed)
        values = whole.values.copy()
        values[:, model._places] = np.where(gone, np.nan, values[:, model._places])
        data = whole.replace_unchecked(values=values)
        rows, places = np.nonzero(gone)
        if not len(rows):
            raise ValueError("`data` must have series of at least four samples to hide some of; it has none")
        owner = np.repeat(np.arange(len(data)), data.lengths)
        asked = np.unique(rows)
        where = np.searchsorted(asked, rows), places
        said = np.stack(model._filled_at(data, owner[asked], data.times[asked], LEVEL), axis=-1)[where]
        parts, _ = model._parts_at(data, owner[asked], data.times[asked])
        measured = whole.values[rows][np.arange(len(rows)), np.array(model._places)[places]].astype(np.float64)
        centre, scale = (part[places] for part in (model._scene.standard.centre, model._scene.standard.scale))
        truth = (measured - centre) / scale
        predictions = {name: (said[:, 0] - centre) / scale}
        predictions |= {rival: parts[..., j][where] for rival, j in _PLACES.items()}
        owners = np.unique(owner[rows], return_inverse=True)[1]

        def means(each: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
            totals: npt.NDArray[np.float64] = np.bincount(owners, weights=each) / np.bincount(owners)
            return totals

        errors = {
            "mse": {model_name: means((each - truth) ** 2) for model_name, each in predictions.items()},
            "mae": {model_name: means(np.abs(each - truth)) for model_name, each in predictions.items()},
        }
        inside = (said[:, 1] <= measured) & (measured <= said[:, 2])
        errors[f"coverage_{100 * LEVEL:g}"] = {name: means(inside.astype(np.float64))}
        return ImputationComparison(
            target=truth, predictions=predictions, figures=figures_of(errors, seed), coverage=LEVEL, errors=errors,
            series=EncodedSeries(model.encoders_, data), error_series=np.unique(owner[rows]),
            whole=whole, rows=rows, places=places, values=said,
        )  # fmt: skip

    def pool(self, comparisons: Sequence[Comparison], seed: int, clusters: Any = None) -> Comparison:
        """Combine several comparisons into one, without the series; its figures are for all series together."""
        return pooled_errors(comparisons, seed)

    def predict(self, model: Any, data: SeriesSet, *, intervals: float = LEVEL, **options: Any) -> Columns:
        """Return one row per missing value of the targets, with the ends of its interval.

        Args:
            model: fitted model.
            data: series.
            intervals: share of values that the intervals should contain.
            **options: none.
        """
        data = model._in_training_form(data)
        found = [np.concatenate([*each, np.zeros((0, len(model.channels_)))]) for each in
                 model.predict(data, intervals=intervals)]  # fmt: skip
        rows, places = np.nonzero(np.isnan(data.values[:, model._places]))
        owner = np.repeat(np.arange(len(data)), data.lengths)
        return {
            "": data.ids[owner[rows]],
            "time": told_times(data, sample_times(data)[rows]),
            "channel": np.array(model.channels_, dtype=object)[places],
            **dict(zip(("prediction", "low", "high"), (each[rows, places] for each in found), strict=True)),
        }

    def tested(self, model: Any, comparison: Comparison) -> Columns:
        """Return one row per hidden value."""
        assert isinstance(comparison, ImputationComparison)
        data, rows, places, values = comparison.whole, comparison.rows, comparison.places, comparison.values
        assert data is not None
        assert rows is not None
        assert places is not None
        assert values is not None
        owner = np.repeat(np.arange(len(data)), data.lengths)
        truth = data.values[rows, np.array(model._places)[places]].astype(np.float64)
        return {
            "": data.ids[owner[rows]],
            "time": told_times(data, sample_times(data)[rows]),
            "channel": np.array(model.channels_, dtype=object)[places],
            "truth": truth,
            "prediction": values[:, 0],
            "error": values[:, 0] - truth,
            "low": values[:, 1],
            "high": values[:, 2],
        }

    def views(self, model: Any, comparison: Comparison) -> list[SeriesView]:
        """Return series with their gaps, and the filled-in values of the channel with the most hidden values."""
        assert isinstance(comparison, ImputationComparison)
        data, rows, places, values = comparison.whole, comparison.rows, comparison.places, comparison.values
        assert data is not None
        assert comparison.series is not None
        assert rows is not None
        assert places is not None
        assert values is not None
        owner = np.repeat(np.arange(len(data)), data.lengths)[rows]
        off = np.abs(comparison.predictions[comparison.name] - comparison.target)
        series, owners = np.unique(owner, return_inverse=True)
        errors = np.bincount(owners, weights=off) / np.bincount(owners)
        kinds, chosen = extremes(errors, data.lengths[series])
        views = []
        for kind, row in zip(kinds, chosen, strict=True):
            one = comparison.series.data[int(series[row])]
            own = owners == row
            place = int(np.bincount(places[own]).argmax())
            some = own & (places == place)
            lines = np.stack([values[some, 0], data.values[rows[some], model._places[place]]], axis=1)
            channel = model.channels_[place]
            words = f"{channel} where it was hidden, mean error {errors[row]:.2f} standard deviations"
            views.append(
                SeriesView(
                    kind, str(one.id), words, one.times, one.values, data.channels, data.times[rows[some]], lines,
                    labels=(f"{channel}, filled in", "measured"), joined=True,
                )
            )  # fmt: skip
        return views
