"""Single series on their true time axes, with the prediction over time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from liquidtime.evaluation.drawing import FAINT, INK, SERIES, WIDTH, drawing, thinned
from liquidtime.tasks import SeriesView

_CHANNELS_DRAWN = 4
_POINTS = 150
_LINES = 5


def series_view(name: str, view: SeriesView, target: str, unit: str | None) -> str:
    """Draw the channels that were observed most often, and the prediction below them.

    Args:
        name: name of the figure.
        view: series.
        target: name of the target.
        unit: unit of time.
    """
    counts = (~np.isnan(view.values)).sum(axis=0)
    chosen = [place for place in np.argsort(-counts, kind="stable")[:_CHANNELS_DRAWN] if counts[place] > 0]
    named = ", ".join(f"{view.channels[place]} ({counts[place]} values)" for place in chosen) or "no observation"
    alt = f"Series {view.id}, {view.outcome}. From top to bottom: {named}; the prediction over time."
    rows = len(chosen) + 1
    with drawing(name, alt, (WIDTH, 1.35 + 0.72 * rows), [1.0] * len(chosen) + [1.6]) as figure:
        for axes, place in zip(figure.axes, chosen, strict=False):
            seen = np.flatnonzero(~np.isnan(view.values[:, place]))
            seen = seen[thinned(seen, _POINTS)]
            times, values = view.times[seen], view.values[seen, place]
            labels = view.categories.get(view.channels[place])
            axes.plot(times, values, color=FAINT, linewidth=0.8, drawstyle="steps-post" if labels else "default")
            axes.plot(times, values, "o", color=FAINT, markersize=2.6, markeredgewidth=0)
            axes.set_title(_short(view.channels[place]), fontsize=9, pad=2)
            if labels:
                codes = np.unique(values).astype(int)
                axes.set_yticks(codes, [_short(str(labels[code]), 14) for code in codes])
            else:
                axes.locator_params(axis="y", nbins=3)
        axes = figure.axes[-1]
        _prediction(axes, view)
        axes.set_title(_short(view.labels[0] if view.joined else f"prediction: {target}"), fontsize=9, pad=2)
        axes.set_xlabel(f"time in {unit}" if unit else "time")
    return figure.svg


def _prediction(axes: Axes, view: SeriesView) -> None:
    keep = thinned(view.seen, _POINTS)
    lines = view.evolving.reshape(len(view.seen), -1)[keep]
    last = lines[-1] if len(lines) else np.zeros(lines.shape[1])
    for place in sorted(np.argsort(-last, kind="stable")[:_LINES]):
        colour = SERIES[place % len(SERIES)]  # by position, so that a class has one colour in all figures
        label = _short(view.labels[place]) if len(view.labels) > 1 else None
        if view.joined:
            axes.plot(view.seen[keep], lines[:, place], marker="o", markersize=3, color=colour, label=label)
            continue
        axes.step(view.seen[keep], lines[:, place], where="post", color=colour, label=label)
        axes.plot(view.seen[keep][-1:], lines[-1:, place], "o", color=colour, markersize=4)
    if view.truth is not None:
        axes.axhline(view.truth, color=INK, linestyle="--", linewidth=1, label="truth")
    if view.bounds is not None:
        low, high = view.bounds
        axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="best", ncols=2)


def _short(name: str, most: int = 40) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
