"""A set of series as HTML for notebooks, which loads nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from liquidtime.data.container.describe import Column
    from liquidtime.data.container.series_set import SeriesSet

_ROWS = 12
"""Largest number of channels, and of static features, that are listed; the others are counted."""
_LEFT = ' style="text-align:left;padding-right:1em"'


def series_set_html(data: SeriesSet) -> str:
    """Return a description of a set as HTML: its size, channels, static features, and notes about repairs.

    Args:
        data: the set.
    """
    about = data.describe()
    unit = f", in {about.time_unit}" if about.time_unit else ""
    facts = (
        ("samples per series", about.lengths),
        (f"intervals{unit}", about.intervals),
        (f"time span{unit}", about.spans),
    )
    lines = [f"<b>{escape(repr(data))}</b>"]
    lines += [f"<div>{escape(name)}: {escape(str(spread))}</div>" for name, spread in facts]
    for title, columns in (("channel", about.channels), ("static feature", about.static)):
        if columns:
            lines.append(_table(title, columns))
    if about.notes:
        notes = "".join(f"<li>{escape(str(note))}</li>" for note in about.notes)
        lines.append(f"<details><summary>{len(about.notes)} notes</summary><ul>{notes}</ul></details>")
    return f"<div>{''.join(lines)}</div>"


def _table(title: str, columns: tuple[Column, ...]) -> str:
    head = "".join(f"<th{_LEFT}>{name}</th>" for name in (title, "observed", "in series", "values"))
    rows = []
    for column in columns[:_ROWS]:
        values = f"categories {', '.join(column.categories)}" if column.spread is None else str(column.spread)
        cells = (column.name, f"{column.observed:.1%}", f"{column.series:.1%}", values)
        rows.append("<tr>" + "".join(f"<td{_LEFT}>{escape(_short(cell))}</td>" for cell in cells) + "</tr>")
    more = len(columns) - _ROWS
    last = f"<tr><td colspan=4{_LEFT}>… and {more} more</td></tr>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}{last}</tbody></table>"


def _short(text: str, most: int = 120) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
