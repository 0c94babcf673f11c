"""What a report shows, gathered from a trained model and its test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._provenance import versions
from liquidtime.data import SeriesSet
from liquidtime.data.container.describe import Description
from liquidtime.estimators import CfCClassifier, CfCForecaster, CfCRegressor
from liquidtime.estimators.network.inputs import Prepared
from liquidtime.evaluation.comparison import Comparison
from liquidtime.evaluation.forecasting import ForecastTest
from liquidtime.evaluation.gate_times import gate_times
from liquidtime.evaluation.report import Curve, Figure, ModelResult, ReportData, SeriesView
from liquidtime.layers import Recurrent

_SHOWN = 2
"""Best and worst series that are drawn, of each."""
_GATE_SERIES = 64
Estimator = CfCClassifier | CfCRegressor | CfCForecaster


def report_data(
    model: Estimator,
    description: Description,
    data: SeriesSet,
    parts: Mapping[str, Any],
    result: Comparison | ForecastTest,
    **texts: Any,
) -> ReportData:
    """Gather what a report shows.

    Args:
        model: fitted.
        description: of all the data.
        data: all of it.
        parts: rows of the data by part; "test" is the test part.
        result: of the test part.
        **texts: `title`, `target_name`, `seed`, `command`, `attribution`, `settings` of `ReportData`.
    """
    test = data[parts["test"]]
    comparison = result.comparison if isinstance(result, ForecastTest) else result
    views = _forecast_views(model, test, result) if isinstance(result, ForecastTest) else _views(model, test, result)
    steps = np.diff(data.times)
    inside = np.ones(len(steps), dtype=bool)
    inside[data.offsets[1:-1][(data.offsets[1:-1] > 0) & (data.offsets[1:-1] < len(data.times))] - 1] = False
    models = [
        ModelResult(
            name,
            {metric: Figure(found.value, found.low, found.high) for metric, found in figures.items()},
            comparison.predictions[name],
        )
        for name, figures in comparison.figures.items()
    ]
    task = {CfCClassifier: "classify", CfCRegressor: "regress", CfCForecaster: "forecast"}[type(model)]
    return ReportData(
        task=task,
        description=description,
        lengths=data.lengths,
        intervals=steps[inside],
        parts={name: len(rows) for name, rows in parts.items()},
        target=comparison.target,
        models=models,
        classes=[str(label) for label in comparison.classes],
        curves=[Curve(found.history, found.best_epoch) for found in model.results_],
        monitor="",
        series=views,
        gate_times=gates_of(model, test),
        versions=versions(),
        **texts,
    )


def gates_of(model: Estimator, data: SeriesSet) -> npt.NDArray[np.float64] | None:
    """Return the time scales of the gates of all networks, in the unit of the data; None where there are none."""
    rows = np.flatnonzero(data.lengths > 0)[:_GATE_SERIES]
    if len(rows) == 0:
        return None
    known = []
    for place, encoder in enumerate(model.encoders_):
        sample = Prepared.of(encoder, data[rows]).at(np.arange(len(rows)))
        for network in model.networks_[place :: len(model.encoders_)]:
            if isinstance(network.recurrent, Recurrent):
                found = gate_times(network.recurrent, sample.x, sample.dt, sample.lengths)
                known += [] if found is None else [found * encoder.time_scale_]
    return np.concatenate(known) if known else None


def _views(model: Any, test: SeriesSet, result: Comparison) -> list[SeriesView]:
    prediction = next(iter(result.predictions.values()))
    if isinstance(model, CfCClassifier):
        off = 1.0 - prediction[np.arange(len(prediction)), result.target]
    else:
        off = np.abs(prediction - result.target).reshape(len(prediction), -1).mean(axis=1)
    kinds, rows = _extremes(off, test.lengths, result.target if isinstance(model, CfCClassifier) else None)
    if not rows:
        return []
    evolution = model.evolve(test[rows])
    views = []
    for place, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
        one = test[row]
        steps = slice(evolution.offsets[place], evolution.offsets[place + 1])
        evolving, truth = evolution.outputs[steps], None
        labels: tuple[str, ...] = ()
        if isinstance(model, CfCClassifier):
            names = [str(label) for label in model.classes_]
            code = int(result.target[row])
            outcome = f"truth {names[code]}, its probability at the end {prediction[row, code]:.2f}"
            if len(names) == 2:
                evolving, truth = evolving[:, 1], float(code)
            else:
                labels = tuple(names)
        else:
            outcome = f"truth {_number(result.target[row])}, prediction at the end {_number(prediction[row])}"
            truth = float(result.target[row]) if result.target.ndim == 1 else None
        views.append(
            SeriesView(
                kind, str(one.id), outcome, one.times, one.values, test.channels, evolution.times[steps], evolving,
                truth, labels,
            )
        )  # fmt: skip
    return views


def _forecast_views(model: Any, test: SeriesSet, result: ForecastTest) -> list[SeriesView]:
    kinds, rows = _extremes(result.errors, np.array([len(times) for times in result.times]))
    views = []
    for kind, row in zip(kinds, rows, strict=True):
        past, wanted, times = result.past[row], result.wanted[row], result.times[row]
        place = int((~np.isnan(wanted)).sum(axis=0).argmax())
        channel = model.channels_[place]
        seen = ~np.isnan(wanted[:, place])
        evolving = np.stack([result.forecasts[row][seen, place], wanted[seen, place]], axis=1)
        words = f"{channel} from the last sample seen on, mean error {result.errors[row]:.2f} standard deviations"
        views.append(
            SeriesView(
                kind, str(past.id), words, past.times, past.values, test.channels, times[seen], evolving,
                labels=(f"forecast of {channel}", "measured"),
            )
        )  # fmt: skip
    return views


def _extremes(off: npt.NDArray[Any], lengths: npt.NDArray[Any], groups: Any = None) -> tuple[list[str], list[int]]:
    """Return the kinds and rows of the least and the most wrong series that have a sample, each once.

    Args:
        off: (n,) how wrong.
        lengths: (n,) samples of each.
        groups: (n,) classes, of which different ones are taken first; None for none.
    """
    order = [int(row) for row in np.argsort(off, kind="stable") if lengths[row] > 0]
    shown = min(_SHOWN, len(order) // 2)
    best = _spread(order, groups)[:shown]
    worst = _spread([row for row in order[::-1] if row not in best], groups)[:shown]
    return ["best"] * len(best) + ["worst"] * len(worst), best + worst


def _spread(order: list[int], groups: Any) -> list[int]:
    """Return the rows with the first of each group in front."""
    if groups is None:
        return order
    first = {groups[row]: row for row in reversed(order)}
    leading = [row for row in order if first[groups[row]] == row]
    return leading + [row for row in order if row not in leading]


def _number(value: Any) -> str:
    return ", ".join(f"{item:.4g}" for item in np.ravel(value))
