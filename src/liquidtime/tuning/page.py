"""The page about a search: the trials, the importance of each setting, and the learning curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from liquidtime.evaluation.templates import fill, number
from liquidtime.tasks.figure_table import heading, metrics_of

if TYPE_CHECKING:
    from liquidtime.tuning.result import SearchResult, TriedTrial

_MOST_ROWS, _MOST_CURVES = 200, 40
_GENERATOR = '<meta name="generator" content="liquidtime search">'


def is_page(file: Path) -> bool:
    """Return whether a file is such a page."""
    try:
        with file.open("rb") as opened:
            return not file.is_symlink() and _GENERATOR.encode() in opened.read(1024)
    except OSError:
        return False


def render(result: SearchResult) -> str:
    """Return the page as text.

    Raises:
        ImportError: matplotlib or jinja2 is not installed.

    """
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"a report needs matplotlib and jinja2 ({error.name} is missing): pip install 'liquidtime[report]'"
        ) from error
    ended = [trial for trial in result.trials if trial.loss is not None]
    order = sorted(result.trials, key=lambda trial: (trial.loss is None, trial.loss or 0.0, trial.number))
    counts = {state: sum(trial.state == state for trial in result.trials) for state in ("complete", "pruned", "fail")}
    return fill(
        "search.html",
        found=result,
        counts=counts,
        seconds=sum(trial.seconds for trial in result.trials),
        best=[(name, _value(value)) for name, value in result.best.items()],
        rows=[
            (
                trial,
                number(trial.loss),
                number(trial.seconds),
                [_value(trial.settings.get(one)) for one in result.space],
            )
            for trial in order[:_MOST_ROWS]
        ],
        left_out=max(0, len(order) - _MOST_ROWS),
        history=_history(result.trials),
        importance=_importance(result) if result.importance else "",
        curves=_curves(order[:_MOST_CURVES]) if any(trial.curve for trial in result.trials) else "",
        settings=[(name, _against(name, ended)) for name in result.space] if len(ended) > 1 else [],
        models=result.figures,
        metrics=metrics_of(result.figures) if result.figures else [],
        heading=heading,
    )


def _value(value: Any) -> str:
    if value is None:
        return "–"
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _history(trials: Any) -> str:
    from liquidtime.evaluation.drawing import INK, SERIES, drawing

    ended = [(trial.number, trial.loss) for trial in trials if trial.loss is not None and np.isfinite(trial.loss)]
    numbers, losses = np.array([n for n, _ in ended]), np.array([loss for _, loss in ended], dtype=float)
    alt = f"Held-out loss of {len(ended)} trials in order; the best has {number(float(losses.min()))}."
    with drawing("trials", alt) as figure:
        (axes,) = figure.axes
        axes.plot(numbers, losses, "o", markersize=4, color=SERIES[0], label="trial")
        axes.step(numbers, np.minimum.accumulate(losses), where="post", color=INK, label="best so far")
        axes.set_xlabel("trial")
        axes.set_ylabel("held-out loss")
        axes.legend()
    return figure.svg


def _importance(result: SearchResult) -> str:
    from liquidtime.evaluation.drawing import SERIES, drawing

    names = sorted(result.importance, key=lambda name: result.importance[name])
    shares = [result.importance[name] for name in names]
    alt = "Importance of settings: " + ", ".join(f"{name} {result.importance[name]:.2f}" for name in reversed(names))
    with drawing("importance", alt, size=(7.2, 0.8 + 0.3 * len(names))) as figure:
        (axes,) = figure.axes
        axes.barh(names, shares, color=SERIES[0])
        axes.set_xlabel("fraction of the variance of the loss")
        axes.grid(False, axis="y")
    return figure.svg


def _curves(trials: list[TriedTrial]) -> str:
    from liquidtime.evaluation.drawing import FAINT, INK, SERIES, drawing

    shown = [trial for trial in trials if trial.curve]
    alt = f"Held-out loss of {len(shown)} trials by fraction of their training; the best is highlighted."
    with drawing("learning", alt, size=(7.2, 3.2)) as figure:
        (axes,) = figure.axes
        for place, trial in reversed(list(enumerate(shown))):
            share = np.arange(1, len(trial.curve) + 1) / float(trial.settings.get("epochs", len(trial.curve)))
            colour = INK if place == 0 else (SERIES[0] if trial.state == "complete" else FAINT)
            axes.plot(
                share, trial.curve, color=colour, alpha=1.0 if place == 0 else 0.5, linewidth=2 if place == 0 else 1
            )
        for words, colour in (("best", INK), ("complete", SERIES[0]), ("pruned", FAINT)):
            axes.plot([], [], color=colour, label=words)
        axes.set_xlabel("fraction of the trial's epochs")
        axes.set_ylabel("held-out loss")
        axes.legend()
    return figure.svg


def _against(name: str, ended: list[TriedTrial]) -> str:
    from liquidtime.evaluation.drawing import SERIES, drawing

    pairs = [(trial.settings[name], trial.loss) for trial in ended if name in trial.settings]
    values: list[Any] = [value for value, _ in pairs]
    losses: list[Any] = [loss for _, loss in pairs]
    plain = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    with drawing(f"setting-{name}", f"Held-out loss against {name}, {len(pairs)} trials.", size=(7.2, 2.0)) as figure:
        (axes,) = figure.axes
        axes.plot(values if plain else [str(value) for value in values], losses, "o", markersize=4, color=SERIES[0])
        if plain and min(values) > 0 and max(values) > 10 * min(values):
            axes.set_xscale("log")
        axes.set_xlabel(name)
        axes.set_ylabel("held-out loss")
    return figure.svg
