"""Render the page: insert figures and tables into the template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from liquidtime.evaluation.report.class_tables import confusion, thresholds
from liquidtime.evaluation.report.contents import ReportData
from liquidtime.evaluation.templates import fill, number
from liquidtime.tasks.figure_table import best_of, heading, metrics_of
from liquidtime.training import ConfidenceInterval

if TYPE_CHECKING:
    from liquidtime.data.container.describe import Spread


def render(data: ReportData) -> str:
    """Return the page as text."""
    try:
        import jinja2  # noqa: F401

        from liquidtime.evaluation.report.data_plots import histogram, learning_curves
        from liquidtime.evaluation.report.score_plots import PLOTS
        from liquidtime.evaluation.report.series_plots import series_view
    except ImportError as error:
        raise ImportError(
            f"a report needs matplotlib and jinja2 ({error.name} is missing): pip install 'liquidtime[report]'"
        ) from error

    unit = data.description.time_unit
    in_unit = f" in {unit}" if unit else ""
    figures: dict[str, list[str]] = {
        "data": [
            histogram("intervals", data.intervals, f"interval between samples{in_unit}", "intervals"),
            histogram("lengths", data.lengths, "samples per series", "series", log=_skewed(data.lengths)),
        ],
        "curves": learning_curves(data.curves, data.monitor) if data.curves else [],
    }
    plots = [PLOTS[name] for name in data.task.plots]
    views = [
        (view, series_view(f"series-{place}", view, data.target_name, unit)) for place, view in enumerate(data.series)
    ]
    error_names = list(data.errors[0].mae) if data.errors else []
    return fill(
        "report.html",
        data=data,
        figures=figures,
        views=views,
        scores=[(plot.draw(data), plot.caption(data)) for plot in plots],
        models=data.comparison.figures,
        metrics=metrics_of(data.comparison.figures),
        heading=heading,
        best=best_of(data.comparison.figures),
        facts=_facts(data),
        settings={name: _setting(value) for name, value in data.settings.items()},
        cell=cell,
        confusion=confusion(data),
        thresholds=thresholds(data),
        errors=_errors(data),
        error_models=[data.comparison.name if name == "model" else name.replace("_", " ") for name in error_names],
        insight=data.insight.sections() if data.insight is not None else [],
    )


def _errors(data: ReportData) -> list[tuple[str, str, int, list[tuple[str, str]], str]]:
    """Return channel, range of gaps, number of values, both errors (mean absolute, RMS) by model, and coverage."""
    whole, rows = set(), []
    for skill in data.errors:
        span = "all" if skill.channel not in whole else f"{number(skill.low)} … {number(skill.high)}"
        whole.add(skill.channel)
        both = [(number(error), number(skill.rmse[name])) for name, error in skill.mae.items()]
        held = "–" if skill.coverage is None else f"{100 * skill.coverage:.0f} %"
        rows.append((skill.channel, span, skill.count, both, held))
    return rows


def _skewed(lengths: Any) -> bool:
    """Return whether a few numbers are so large that all others would share one bar on a linear axis."""
    return bool(len(lengths) and lengths.min() > 0 and lengths.max() > 20 * max(1.0, float(np.median(lengths))))


def _facts(data: ReportData) -> list[tuple[str, str]]:
    about = data.description
    unit = f" {about.time_unit}" if about.time_unit else ""
    return [
        ("series", f"{about.series:,}"),
        ("samples", f"{about.samples:,}"),
        ("observed values", f"{about.observations:,}"),
        ("samples per series", spread(about.lengths)),
        ("interval" + (f", in{unit}" if unit else ""), spread(about.intervals)),
        ("time span" + (f", in{unit}" if unit else ""), spread(about.spans)),
        ("parts", ", ".join(f"{count:,} {name}" for name, count in data.parts.items())),
    ]


def spread(numbers: Spread) -> str:
    """Return the smallest, median and largest number as text."""
    if numbers.least is None:
        return "none"
    return f"{number(numbers.least)} … {number(numbers.median)} … {number(numbers.largest)} (min, median, max)"


def cell(figure: ConfidenceInterval) -> str:
    """Return a figure as text with three decimals, or as `number` does if it is large."""
    return f"{figure.value:.3f}" if abs(figure.value) < 100 else number(figure.value)


def _setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
