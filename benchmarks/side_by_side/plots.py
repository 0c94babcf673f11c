"""Cost against size as figures, with the fitted power laws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.side_by_side.case import Questions
from benchmarks.side_by_side.exponents import fitted
from benchmarks.side_by_side.report import Report, SweepFigures
from benchmarks.side_by_side.sweep import Sweep

STYLES = {
    "CfC": ("#0072b2", "o"),
    "nn.RNN": ("#009e73", "s"),
    "ODE-RNN": ("#d55e00", "D"),
    "Transformer": ("#cc79a7", "^"),
    "euler": ("#009e73", "s"),
    "midpoint": ("#e69f00", "v"),
    "rk4": ("#cc79a7", "^"),
    "dopri5": ("#d55e00", "D"),
}
"""Colour and marker of each model."""

AXES = {
    "T": "samples of a series T",
    "H": "hidden units H",
    "B": "series in the batch B",
    "n": "samples before it n",
    "K": "solver steps, or samples K",
}
TITLES = {
    "sequence": "Cost of a whole sequence",
    "step": "Cost of one more sample",
    "solver": "Cost of solver steps",
}
FORMATS = ("svg", "png")


def plot(report: Report, questions: Questions, folder: Path) -> list[Path]:
    """Draw every figure that has a panel in the report, as SVG and PNG, and return the files.

    Raises:
        ImportError: matplotlib is not installed.

    """
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    measured = {figures.name: figures for figures in report.sweeps}
    files = []
    for name, title in TITLES.items():
        sweeps = [sweep for sweep in questions.sweeps if sweep.figure == name and sweep.name in measured]
        panels = [(sweep, measured[sweep.name]) for sweep in sweeps]
        if not panels:
            continue
        with rc_context({"svg.hashsalt": "liquidtime", "font.size": 9, "svg.fonttype": "none"}):
            figure = _figure(title, panels)
            for kind in FORMATS:
                files.append(folder / f"cost_{name}.{kind}")
                figure.savefig(files[-1], dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return files


def _figure(title: str, panels: list[tuple[Sweep, SweepFigures]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(panels), 4.4), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (sweep, figures) in zip(axes, panels, strict=True):
        _panel(axis, sweep, figures)
    axes[0].set_ylabel("milliseconds, best of several")
    figure.suptitle(title, fontsize=11)
    return figure


def _panel(axis: Any, sweep: Sweep, figures: SweepFigures) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    sizes: set[int] = set()
    for model in figures.times:
        costs = figures.costs(model)
        sizes |= set(costs)
        law, stated = fitted(costs), sweep.models[model]
        label = model if law is None else f"{model}  {law.exponent:.2f}"
        label += "" if stated is None else f"  ({stated:g})"
        milliseconds = [cost * 1e3 for cost in costs.values()]
        colour, marker = STYLES[model]
        axis.plot(list(costs), milliseconds, label=label, linewidth=1, color=colour, marker=marker, markersize=4)
        if law is not None:
            ends = [law.sizes[0], law.sizes[-1]]
            line = [law.at(size) * 1e3 for size in ends]
            axis.plot(ends, line, color=colour, linewidth=4, alpha=0.25, solid_capstyle="butt")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.xaxis.set_major_locator(FixedLocator(sorted(sizes)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
    axis.set_xlabel(AXES[sweep.axis])
    axis.grid(True, which="major", linewidth=0.4, alpha=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 2}
    axis.legend(frameon=False, fontsize=8, title="fitted power of the size (the paper's)", title_fontsize=8, **place)
