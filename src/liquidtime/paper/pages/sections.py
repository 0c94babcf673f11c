"""Sections of the page of results whose tables have a form of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from liquidtime.paper.experiments import EXPERIMENTS
from liquidtime.paper.pages.complexity import complexity_markdown, complexity_rows
from liquidtime.paper.pages.driving import driving_markdown, driving_rows
from liquidtime.paper.pages.gradients import gradient_markdown, gradient_rows
from liquidtime.paper.pages.lane import lane_markdown, lane_rows, tightness_markdown, tightness_rows
from liquidtime.paper.pages.portfolio import forecasts_by_gap, forecasts_markdown, portfolio_markdown, portfolio_rows
from liquidtime.paper.pages.searches import search_markdown, search_rows


@dataclass(frozen=True)
class Section:
    """A table made from files in the folder of results.

    Attributes:
        title: title of the section.
        command: command that makes the files.
        rows: folder -> contents of the table, for JSON.
        markdown: folder -> the table; empty if there are no files yet.

    """

    title: str
    command: str
    rows: Callable[[Path], list[dict[str, Any]]]
    markdown: Callable[[Path], str]


SECTIONS: dict[str, Section] = {
    "driving": Section(
        EXPERIMENTS["driving"].title,
        "liquidtime paper run driving --model MODEL --seeds N; liquidtime paper figure driving",
        driving_rows,
        driving_markdown,
    ),
    "lane-keeping": Section(
        EXPERIMENTS["lane-keeping"].title,
        "liquidtime paper run lane-keeping --model MODEL --seeds N; liquidtime paper figure attention",
        lane_rows,
        lane_markdown,
    ),
    "tightness": Section(
        EXPERIMENTS["tightness"].title,
        "liquidtime paper run tightness --model METHOD; liquidtime paper figure tightness",
        tightness_rows,
        tightness_markdown,
    ),
    "searches": Section("Equal tuning", "liquidtime paper tune EXPERIMENT --model MODEL", search_rows, search_markdown),
    "gradients": Section(
        EXPERIMENTS["gradients"].title,
        "liquidtime paper run gradients --model MODEL_DELAY --seeds 3; liquidtime paper figure gradients",
        gradient_rows,
        gradient_markdown,
    ),
    "complexity": Section(
        "Complexity", "make bench CASE=scaling ARGS='--out results/bench'", complexity_rows, complexity_markdown
    ),
    "portfolio": Section(
        "Portfolio of data sets",
        "make bench CASE=portfolio ARGS='--sets SET --models MODEL --seeds 0 1 2'",
        portfolio_rows,
        portfolio_markdown,
    ),
    "forecasts": Section(
        "Forecasts by gap",
        "make bench CASE=portfolio_forecast ARGS='--sets SET --models default --seeds 0 1 2'",
        forecasts_by_gap,
        forecasts_markdown,
    ),
}


def written(out: Path) -> list[str]:
    """Return the lines of every section that has files."""
    parts = []
    for section in SECTIONS.values():
        text = section.markdown(out)
        if text:
            parts += [f"## {section.title}", "", f"`{section.command}`", "", text]
    return parts
