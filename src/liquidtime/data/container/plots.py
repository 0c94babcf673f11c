"""Plots of series on their true time axis, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from liquidtime.data.container.clock import sample_times
from liquidtime.errors import nearest

if TYPE_CHECKING:
    from liquidtime.data.container.series_set import SeriesSet

_SERIES, _CHANNELS = 5, 8
_HEIGHT, _WIDTH = 1.6, 8.0


def plot_series(data: SeriesSet, ids: Sequence[Any] | None = None, channels: Sequence[str] | None = None) -> Any:
    """Draw series, one panel per channel: a mark for every observed value, joined by lines; categories as steps.

    Args:
        data: S series.
        ids: ids of the series to draw; the first five if None.
        channels: channels to draw; the first eight if None.

    Returns:
        The matplotlib figure.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: there is no such id or channel.

    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need the package matplotlib: pip install 'liquidtime[report]'") from None
    if isinstance(ids, str) or isinstance(channels, str):
        raise TypeError("`ids` and `channels` must be lists; put a single name into a list")
    known = [str(name) for name in data.ids]
    rows = (
        [_place("ids", str(name), known) for name in ids] if ids is not None else list(range(min(len(data), _SERIES)))
    )
    names = list(data.channels[:_CHANNELS] if channels is None else channels)
    places = [_place("channels", name, list(data.channels)) for name in names]
    figure = Figure(figsize=(_WIDTH, max(2.0, _HEIGHT * len(places))), layout="constrained")
    panels = figure.subplots(len(places), 1, sharex=True, squeeze=False)[:, 0]
    told = sample_times(data) if len(rows) == 1 else data.times  # several series are drawn on one axis
    for panel, place in zip(panels, places, strict=True):
        name = data.channels[place]
        labels = data.categories.get(name)
        for row in rows:
            steps = slice(data.offsets[row], data.offsets[row + 1])
            observed = ~np.isnan(data.values[steps, place])
            style = {"drawstyle": "steps-post"} if labels is not None else {}
            panel.plot(
                told[steps][observed], data.values[steps, place][observed], marker=".", linewidth=1, label=known[row],
                **style,
            )  # fmt: skip
        panel.set_ylabel(name)
        if labels is not None:
            panel.set_yticks(range(len(labels)), labels)
    unit = f" ({data.time_unit})" if data.time_unit and told.dtype.kind != "M" else ""
    panels[-1].set_xlabel(f"time{unit}")
    left_out = [
        *([f"{len(rows)} of {len(data)} series"] if len(rows) < len(data) else []),
        *([f"{len(places)} of {len(data.channels)} channels"] if len(places) < len(data.channels) else []),
    ]
    figure.suptitle(", ".join(left_out) if len(rows) != 1 else f"series {known[rows[0]]}", fontsize="medium")
    if len(rows) > 1:
        panels[0].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    return figure


def _place(argument: str, name: str, known: list[str]) -> int:
    if name not in known:
        raise ValueError(
            f"`{argument}` must name something in the set; there is no {name!r}{nearest(name, known) or '.'}"
        )
    return known.index(name)
