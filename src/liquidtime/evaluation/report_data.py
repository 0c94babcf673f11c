"""What a report shows, gathered from a trained model and its test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from liquidtime._provenance import versions
from liquidtime.data import SeriesSet
from liquidtime.estimators.stacking import StackedForecaster
from liquidtime.estimators.stacking.base import StackedEstimator
from liquidtime.evaluation.gate_times import model_gate_times
from liquidtime.evaluation.report import Curve, ReportData
from liquidtime.tasks import Comparison, Task, task_of


def _parts(model: Any) -> dict[str, str]:
    """Return the parts of a stacked model with their weights and out-of-fold figures, in words; none of others."""
    if not isinstance(model, StackedEstimator | StackedForecaster):
        return {}
    facts = {}
    for part in model.parts_:
        figures = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in part.figures.items())
        facts[f"part: {part.name}"] = f"weight {part.weight:.2f}; out of fold: {figures or 'no use in the first fold'}"
    return facts


def report_data(
    model: Any,
    data: SeriesSet,
    parts: Mapping[str, Any],
    comparison: Comparison,
    *,
    task: Task | None = None,
    split: Mapping[str, str] | None = None,
    **texts: Any,
) -> ReportData:
    """Gather what a report shows.

    Args:
        model: fitted.
        data: all of the data.
        parts: rows of the data by part; "test" is the test part.
        comparison: of the test part, with its series.
        task: what is predicted; None for the model's own.
        split: how the test was made and what the saved model was trained on, in words by name.
        **texts: `title`, `target_name`, `seed`, `command` and `attribution` of `ReportData`.
    """
    task, series = task or task_of(model), comparison.series
    within = np.ones(len(data.times), dtype=bool)
    within[data.offsets[:-1][data.lengths > 0]] = False  # the first sample of a series has no interval
    return ReportData(
        task=task,
        description=data.describe(),
        lengths=data.lengths,
        intervals=np.diff(data.times, prepend=0.0)[within],
        parts={name: len(rows) for name, rows in parts.items()},
        comparison=comparison.plain(),
        curves=[Curve(network.history, network.best_epoch) for network in model.results_],
        series=task.views(model, comparison),
        gate_times=None if series is None else model_gate_times(model, series),
        settings={**(split or {}), **model.get_params(deep=False), **_parts(model)},
        versions=versions(),
        **texts,
    )
