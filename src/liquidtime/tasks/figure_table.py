"""Figures as rows of text, for a terminal, a notebook and a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from liquidtime.training import METRICS, ConfidenceInterval

Figures = Mapping[str, Mapping[str, ConfidenceInterval]]
"""Figures by model and metric."""


def metrics_of(figures: Figures) -> list[str]:
    """Return the metrics of all models in the order of `METRICS`, with unknown ones at the end."""
    names = {metric: None for row in figures.values() for metric in row}
    return [*(name for name in METRICS if name in names), *(name for name in names if name not in METRICS)]


def heading(metric: str, short: bool = False) -> str:
    """Return the title of a metric in tables, with ↓ if lower is better."""
    if metric in METRICS:
        return METRICS[metric].heading(short)
    base, _, rest = metric.rpartition("_")
    if base == "coverage":
        return f"in {rest} % interval" if short else f"share within the {rest} % interval"
    if base in METRICS:  # of one label of several
        words = METRICS[base].heading(short)
        return f"{words.removesuffix(' ↓')}, label {rest}{' ↓' if words.endswith('↓') else ''}"
    return metric


def best_of(figures: Figures) -> dict[str, float]:
    """Return the best value of each metric that several models have."""
    best = {}
    for metric in metrics_of(figures):
        values = [row[metric].value for row in figures.values() if metric in row]
        if len(values) > 1 and metric in METRICS:
            best[metric] = max(values) if METRICS[metric].higher_is_better else min(values)
    return best


def rows_of(figures: Figures) -> list[list[str]]:
    """Return a header and one row per metric: its heading, then the figure of each model with its interval."""
    rows = [["", *figures]]
    for metric in metrics_of(figures):
        cells = [str(row[metric]) if metric in row else "–" for row in figures.values()]
        rows.append([heading(metric, short=True), *cells])
    return rows


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as aligned text, with a rule below the first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "─" * (sum(widths) + 2 * (len(widths) - 1)), *lines[1:]])


def as_html(figures: Figures, caption: str) -> str:
    """Return the figures as a self-contained HTML table, with the best of each metric in bold."""
    best = best_of(figures)
    head = "".join(f'<th style="text-align:left;padding-right:1em">{escape(model)}</th>' for model in ("", *figures))
    lines = []
    for metric in metrics_of(figures):
        cells = [f'<th style="text-align:left;padding-right:1em">{escape(heading(metric))}</th>']
        for row in figures.values():
            text = escape(str(row[metric])) if metric in row else "–"
            bold = metric in row and best.get(metric) == row[metric].value
            cells.append(f'<td style="text-align:left;padding-right:1em">{f"<b>{text}</b>" if bold else text}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<table><caption style="caption-side:bottom;text-align:left">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
