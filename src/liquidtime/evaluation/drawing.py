"""Figures, as inline SVG with the font and the light or dark colours of their page, or as separate files.

For a page, matplotlib draws with placeholder colours that nothing else in a figure uses; in the SVG, each of them is
replaced by a CSS variable. Separate files have the light colours of the page.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Palette:
    """The colours of a figure.

    Args:
        ink: colour of text and of true values.
        faint: colour of axes and of context.
        grid: colour of grid lines.
        paper: background colour; "none" for a transparent background.
        series: colours of lines.
    """

    ink: str
    faint: str
    grid: str
    paper: str
    series: tuple[str, ...]


INK, FAINT, GRID = "#010203", "#010204", "#010205"
SERIES = tuple(f"#01030{place}" for place in range(8))
VARIABLES = {INK: "--ink", FAINT: "--faint", GRID: "--grid"} | {
    colour: f"--series-{place}" for place, colour in enumerate(SERIES)
}
PAGE = Palette(INK, FAINT, GRID, "none", SERIES)
"""Placeholder colours, for SVG in a page that defines the variables."""
PRINT = Palette(
    "#1b1f24", "#6a737d", "#e3e6ea", "#ffffff",
    ("#1663c7", "#c4570a", "#6a737d", "#1a7f5a", "#8e44ad", "#b3261e", "#0e7c86", "#7a6200"),
)  # fmt: skip
"""Colours of separate figures."""
DARK = Palette(
    "#e4e7eb", "#97a1ad", "#323841", "#14171c",
    ("#6cb0ff", "#f5a45d", "#97a1ad", "#5fd0a5", "#cf9be8", "#ff8a80", "#5cc9d3", "#d8bf4a"),
)  # fmt: skip
"""Values of the variables in dark mode."""
WIDTH = 4.7
SQUARE = (3.7, 4.1)
MOST_POINTS = 400


def _style(palette: Palette, name: str) -> Any:
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "text.parse_math": False,
        "font.size": 10,
        "axes.edgecolor": palette.faint,
        "axes.labelcolor": palette.ink,
        "axes.titlesize": 10,
        "axes.titlecolor": palette.ink,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "axes.prop_cycle": cycler(color=palette.series),
        "figure.facecolor": palette.paper,
        "savefig.facecolor": palette.paper,
        "grid.color": palette.grid,
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "legend.labelcolor": palette.ink,
        "lines.linewidth": 1.8,
        "path.simplify": True,
        "text.color": palette.ink,
        "xtick.color": palette.faint,
        "ytick.color": palette.faint,
        "xtick.labelcolor": palette.ink,
        "ytick.labelcolor": palette.ink,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
    }


class Drawing:
    """A figure under construction. After its `with` block, `svg` is its text, if it is for a page.

    Args:
        name: name that is unique within a page.
        alt: description of the figure for screen readers.
        size: width and height in inches.
        ratios: relative heights of axes in one column with a common x axis.
        palette: colours.
    """

    def __init__(
        self, name: str, alt: str, size: tuple[float, float], ratios: Sequence[float], palette: Palette = PAGE
    ) -> None:
        self.name, self.alt, self.svg, self.palette = name, alt, "", palette
        self.canvas = Canvas(figsize=size, layout="constrained")
        rows = {"height_ratios": list(ratios)}
        grid: Any = self.canvas.subplots(len(ratios), 1, sharex=True, squeeze=False, gridspec_kw=rows)
        self.axes: list[Axes] = list(grid[:, 0])

    def legend_below(self, title: str | None = None) -> None:
        """Add a legend below the axes, so that it hides no line; the lines drawn last are listed first."""
        handles, labels = self.axes[-1].get_legend_handles_labels()
        if handles:
            place: Any = "outside lower left"
            self.canvas.legend(handles[::-1], labels[::-1], loc=place, title=title, title_fontsize=9, alignment="left")

    @staticmethod
    def plain_ticks(axes: Any, decades: float) -> None:
        """Label a logarithmic axis 0.1, 1, 10, and also at 2 and 5 of each decade if there are few decades."""
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        if decades < 2.5:
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())


@contextmanager
def drawing(
    name: str,
    alt: str,
    size: tuple[float, float] = (WIDTH, 2.6),
    ratios: Sequence[float] = (1.0,),
    palette: Palette = PAGE,
) -> Iterator[Drawing]:
    """Draw a figure within a `with` block; afterwards its `svg`, or with another palette its `canvas`, is complete."""
    with matplotlib.rc_context(_style(palette, name)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the fonts of the page have it
        figure = Drawing(name, alt, size, ratios, palette)
        yield figure
        if palette is not PAGE:
            return
        buffer = io.StringIO()
        canvas: Any = FigureCanvasSVG(figure.canvas)
        canvas.print_svg(buffer, metadata={"Date": None})
        figure.svg = inline(buffer.getvalue(), name, alt)


def inline(svg: str, name: str, alt: str) -> str:
    """Turn an SVG document into an element of the page.

    Args:
        svg: SVG from matplotlib.
        name: prefix of every id, so that ids are unique.
        alt: accessible name.
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
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\.\d{2})\d+", r"\1", tag[0]), svg)  # but not in texts
    svg = re.sub(r"\n\s*", "\n", svg)
    box = re.search(r'viewBox="([^"]+)"', svg)
    assert box is not None
    body = svg[svg.index(">") + 1 :]
    label = escape(alt, quote=True)
    return f'<svg role="img" aria-label="{label}" viewBox="{box[1]}" xmlns:xlink="http://www.w3.org/1999/xlink">{body}'


def thinned(points: npt.NDArray[Any], most: int = MOST_POINTS) -> npt.NDArray[np.int64]:
    """Return the positions of about `most` points or fewer, evenly spread, including both ends."""
    n = len(points)
    if n <= most:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, most).round().astype(np.int64))
