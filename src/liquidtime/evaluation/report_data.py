"""Collect the contents of a report from a trained model and its test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from liquidtime._provenance import versions
from liquidtime.data import SeriesSet
from liquidtime.data.container.drawn_series import drawn_blocks
from liquidtime.estimators.stacking import StackedForecaster
from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.evaluation.insight import Explanation, Neighbours, explain
from liquidtime.evaluation.report import Curve, ReportData
from liquidtime.tasks import Comparison, SeriesView, Task, task_of
from liquidtime.tasks.per_sample import by_series, of_samples

_SERIES, _PRESENCE, _CHANNELS = 64, 6, 48
"""Numbers of test series, and of channels whose presence is shuffled, for the importances in a report."""


def _parts(model: Any) -> dict[str, str]:
    """Return the parts of a stacked model with weights and out-of-fold figures, as text; none for other models."""
    if not isinstance(model, StackedEstimator | StackedForecaster):
        return {}
    facts = {}
    for part in model.parts_:
        figures = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in part.figures.items())
        facts[f"part: {part.name}"] = (
            f"weight {part.weight:.2f}; out of fold: {figures or 'not used in the first fold'}"
        )
    return facts


def report_data(
    model: Any,
    data: SeriesSet,
    parts: Mapping[str, Any],
    comparison: Comparison,
    test: SeriesSet,
    *,
    task: Task | None = None,
    target: Any = None,
    neighbours: Neighbours | None = None,
    split: Mapping[str, str] | None = None,
    **texts: Any,
) -> ReportData:
    """Collect the contents of a report.

    Args:
        model: fitted model.
        data: all series.
        parts: rows of the data per part; "test" is the test part.
        comparison: comparison on the test part, with its series.
        test: complete series of the comparison.
        task: task; None for that of the model.
        target: (S,) classes of all series, which are counted; None counts those of the comparison.
        neighbours: training series to search for similar ones; None for none.
        split: how the test part was chosen and what the saved model was trained on, as texts by name.
        **texts: `title`, `target_name`, `seed`, `command` and `attribution` of `ReportData`.
    """
    task = task or task_of(model)
    views = [replace(view, categories=data.categories) for view in task.views(model, comparison)]
    forecasts = getattr(comparison, "test", None)
    return ReportData(
        task=task,
        description=data.describe(),
        lengths=data.lengths,
        intervals=_intervals(data),
        parts={name: len(rows) for name, rows in parts.items()},
        comparison=comparison.plain(),
        curves=[Curve(network.history, network.best_epoch) for network in model.results_],
        series=views,
        counts=_counts(comparison, target, parts),
        errors=[] if forecasts is None else forecasts.by_channel(),
        insight=_inside(model, test, comparison, views, neighbours, texts.get("seed", 0)),
        settings={**(split or {}), **model.get_params(deep=False), **_parts(model)},
        versions=versions(),
        **texts,
    )


def _intervals(data: SeriesSet) -> npt.NDArray[np.float64]:
    """Return the times between neighbouring samples within series; of very many series, a random sample is used."""
    found = [np.empty(0)]
    for part in drawn_blocks(data):
        within = np.ones(len(part.times), dtype=bool)
        within[part.offsets[:-1][part.lengths > 0]] = False  # the first sample of a series has no interval
        found.append(np.diff(part.times, prepend=0.0)[within])
    return np.concatenate(found)


def _counts(comparison: Comparison, target: Any, parts: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the number of series per class and part; for classes of samples, the number of samples."""
    labels = comparison.classes
    if not len(labels):
        return {}
    if target is None or np.shape(target) != (sum(len(rows) for rows in parts.values()),):
        numbers = np.bincount(comparison.target, minlength=len(labels))
        return {str(label): {"test": int(number)} for label, number in zip(labels, numbers, strict=True)}
    if of_samples(target):  # classes of samples; unknown ones are not counted
        flat = {name: [str(label) for row in rows for label in target[row]] for name, rows in parts.items()}
        return {str(label): {name: known.count(str(label)) for name, known in flat.items()} for label in labels}
    known = np.array([str(label) for label in np.asarray(target).tolist()])
    return {
        str(label): {name: int((known[rows] == str(label)).sum()) for name, rows in parts.items()} for label in labels
    }


def _inside(
    model: Any,
    test: SeriesSet,
    comparison: Comparison,
    views: Sequence[SeriesView],
    neighbours: Neighbours | None,
    seed: int,
) -> Explanation | None:
    """Return the explanation of the model, with the best and the worst series.

    None if no series has a sample, and for models that fill gaps, which are not explained.
    """
    task = task_of(model)
    if not views or not task.explained:
        return None
    target = None
    if task.has_target:
        target = comparison.target if not len(comparison.classes) else comparison.classes[comparison.target]
    if task.per_sample:
        known, target = target, np.full(len(test.times), None, dtype=object)
        target[comparison.extras["place"]] = known
        target = by_series(target, test)
    shown = list({view.kind: view.id for view in reversed(views)}.values())[::-1]
    limits = {"repeats": 1, "most_series": _SERIES, "most_presence": _PRESENCE, "most_channels": _CHANNELS}
    return explain(model, test, target, id=shown, neighbours=neighbours, seed=seed, **limits)
