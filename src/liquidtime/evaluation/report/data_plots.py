"""Figures of the data and of the training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from liquidtime.evaluation.drawing import FAINT, INK, SERIES, drawing
from liquidtime.evaluation.report.contents import Array, Curve


def histogram(name: str, numbers: Array, label: str, items: str, log: bool | None = None, mark: Any = None) -> str:
    """Draw a histogram, with a logarithmic axis if the numbers span more than two decades.

    Args:
        name: name of the figure.
        numbers: (n,) finite numbers.
        label: label of the x axis.
        items: name of what is counted, for the y axis.
        log: whether the axis is logarithmic; None to decide by the numbers.
        mark: (position, label) of a dashed line.
    """
    positive = numbers[numbers > 0]
    if log is None:
        log = len(positive) > 0 and len(positive) > 0.99 * len(numbers) and positive.max() > 100 * positive.min()
    shown = positive if log else numbers
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 1.0)
    if high <= low:
        low, high = (low / 2, low * 2) if log else (low - 0.5, high + 0.5)
    edges = np.geomspace(low, high, 41) if log else np.linspace(low, high, 41)
    if not log and (shown == np.round(shown)).all() and high - low < 40:
        edges = np.arange(low - 0.5, high + 1.0)
    counts, edges = np.histogram(shown, edges)
    middle = f"{np.median(numbers):.4g}" if len(numbers) else "none"
    alt = f"Histogram of {label}: {len(numbers):,} {items}, median {middle}."
    with drawing(name, alt) as figure:
        (axes,) = figure.axes
        axes.stairs(counts, edges, fill=True, color=SERIES[0])
        axes.set_xlabel(label)
        axes.set_ylabel(items)
        axes.grid(False, axis="x")
        if log:
            axes.set_xscale("log")
            figure.plain_ticks(axes, float(np.log10(high / low)))
        if mark is not None and low <= mark[0] <= high:
            axes.axvline(mark[0], color=INK, linestyle="--", linewidth=1.2)
            axes.set_title(f"dashed: {mark[1]}, {mark[0]:.4g}", fontsize=9)
    return figure.svg


def learning_curves(curves: Sequence[Curve], monitor: str) -> list[str]:
    """Draw the loss of each epoch, and the validation metric that chose the best one."""
    figures = [_curves("loss", curves, "loss", "val_loss", "loss")]
    if monitor and monitor != "loss":
        figures.append(_curves("monitor", curves, None, f"val_{monitor}", monitor.replace("_", " ")))
    return figures


def _curves(name: str, curves: Sequence[Curve], training: str | None, validation: str, label: str) -> str:
    last = [curve.history[-1] for curve in curves if curve.history]
    ends = [f"{record[key]:.3f}" for record in last for key in (validation,) if record.get(key) is not None]
    alt = f"{label} by epoch of {len(curves)} network(s)"
    alt += f"; on validation it ends at {', '.join(ends[:5])}." if ends else "."
    with drawing(name, alt) as figure:
        (axes,) = figure.axes
        alpha = 1.0 if len(curves) == 1 else 0.6
        for place, curve in enumerate(curves):
            epochs = np.arange(1, len(curve.history) + 1)
            for key, colour, words in ((training, FAINT, "training"), (validation, SERIES[0], "validation")):
                heights: list[Any] = [record.get(key) for record in curve.history] if key else []
                if not heights or any(height is None for height in heights):
                    continue
                style: Any = {"color": colour, "alpha": alpha, "label": words if place == 0 else None}
                axes.plot(epochs, np.array(heights, dtype=float), marker="o", markersize=2.5, **style)
                if key == validation and curve.best_epoch is not None and curve.best_epoch < len(heights):
                    axes.plot(
                        [curve.best_epoch + 1], [heights[curve.best_epoch]], "o", markersize=8, markerfacecolor="none",
                        markeredgecolor=INK, label="kept" if place == 0 else None,
                    )  # fmt: skip
        axes.set_xlabel("epoch")
        axes.set_ylabel(label)
        axes.locator_params(axis="x", integer=True)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
    return figure.svg
