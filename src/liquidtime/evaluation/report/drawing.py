"""Figures as inline SVG that follows the page: its font, and its colours by day and by night.

Matplotlib draws with stand-in colours that no other part of a figure uses; in the SVG each becomes a CSS variable.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

INK, FAINT, GRID = "#010203", "#010204", "#010205"
SERIES = tuple(f"#01030{place}" for place in range(8))
VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--grid"} | {
    colour: f"--series-{place}" for place, colour in enumerate(SERIES)
}
WIDTH = 4.7
SQUARE = (3.7, 4.1)
MOST_POINTS = 400

_STYLE: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.prop_cycle": cycler(color=SERIES),
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.8,
    "path.simplify": True,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


class Drawing:
    """A figure under construction; `svg` is its text once the block around it has ended.

    Args:
        name: distinct within a page.
        alt: what there is to see, for those who do not see it.
        size: width and height in inches.
        ratios: heights of axes one above the other, which share their x axis.
    """

    def __init__(self, name: str, alt: str, size: tuple[float, float], ratios: Sequence[float]) -> None:
        self.name, self.alt, self.svg = name, alt, ""
        self.canvas = Canvas(figsize=size, layout="constrained")
        rows = {"height_ratios": list(ratios)}
        grid: Any = self.canvas.subplots(len(ratios), 1, sharex=True, squeeze=False, gridspec_kw=rows)
        self.axes: list[Axes] = list(grid[:, 0])

    def legend_below(self, title: str | None = None) -> None:
        """Say under the axes what the lines are, where it hides none of them; those drawn last come first."""
        handles, labels = self.axes[-1].get_legend_handles_labels()
        if handles:
            place: Any = "outside lower left"
            self.canvas.legend(handles[::-1], labels[::-1], loc=place, title=title, title_fontsize=9, alignment="left")


@contextmanager
def drawing(
    name: str, alt: str, size: tuple[float, float] = (WIDTH, 2.6), ratios: Sequence[float] = (1.0,)
) -> Iterator[Drawing]:
    """Draw a figure within the block; afterwards its `svg` is there."""
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the page's fonts will have it
        figure = Drawing(name, alt, size, ratios)
        yield figure
        buffer = io.StringIO()
        canvas: Any = FigureCanvasSVG(figure.canvas)
        canvas.print_svg(buffer, metadata={"Date": None})
        figure.svg = inline(buffer.getvalue(), name, alt)


def inline(svg: str, name: str, alt: str) -> str:
    """Turn an SVG document into an element of the page.

    Args:
        svg: what matplotlib wrote.
        name: put in front of every id, so that two figures share none.
        alt: the accessible name.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", svg)
    for place, identifier in enumerate(sorted(used)):
        mark = f"{name}-{place}"
        svg = re.sub(rf'(id="|url\(#|href="#){re.escape(identifier)}(?=[)"])', rf"\g<1>{mark}", svg)
    svg = re.sub(r"font-family: [^;\"]*;?", "", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d{2})\d+", r"\1", tag[0]), svg)  # not in texts
    svg = re.sub(r"\n\s*", "\n", svg)
    box = re.search(r'viewBox="([^"]+)"', svg)
    assert box is not None
    body = svg[svg.index(">") + 1 :]
    label = escape(alt, quote=True)
    return f'<svg role="img" aria-label="{label}" viewBox="{box[1]}" xmlns:xlink="http://www.w3.org/1999/xlink">{body}'


def thinned(points: npt.NDArray[Any], most: int = MOST_POINTS) -> npt.NDArray[np.int64]:
    """Return positions of at most about `most` points, evenly spread, both ends among them."""
    n = len(points)
    if n <= most:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, most).round().astype(np.int64))
