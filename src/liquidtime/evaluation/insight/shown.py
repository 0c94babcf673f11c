"""Base class of results that can be drawn on a page, in a notebook, and as an image."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liquidtime.evaluation.drawing import Drawing

_VARIABLES = ("ink", "faint", "grid")


@dataclass(frozen=True, eq=False)
class Sketch:
    """The definition of a figure.

    Args:
        alt: description of the figure for screen readers.
        size: width and height in inches.
        draw: function that draws it into the axes of a drawing, with the colours of its palette.
        ratios: relative heights of axes in one column.
    """

    alt: str
    size: tuple[float, float]
    draw: Callable[[Drawing], None]
    ratios: Sequence[float] = (1.0,)


class Shown(ABC):
    """Numbers that can be drawn; displayed as a figure in a notebook."""

    @abstractmethod
    def caption(self) -> str:
        """Return the caption of the figure."""

    @abstractmethod
    def sketch(self) -> Sketch:
        """Return the definition of the figure."""

    def svg(self, name: str) -> str:
        """Return the figure as SVG for a page that has the report's colours.

        Args:
            name: name that is unique within a page.

        Raises:
            ImportError: matplotlib is not installed.

        """
        needs_matplotlib()
        from liquidtime.evaluation.drawing import drawing

        sketch = self.sketch()
        with drawing(name, sketch.alt, sketch.size, sketch.ratios) as figure:
            sketch.draw(figure)
        return figure.svg

    def plot(self, path: str | Path | None = None) -> Any:
        """Return the figure as a `matplotlib.figure.Figure`.

        Args:
            path: file to also write it to, such as .png, .svg or .pdf, which is replaced if it exists.

        Raises:
            ImportError: matplotlib is not installed.

        """
        needs_matplotlib()
        from liquidtime.evaluation.drawing import PRINT, drawing

        sketch = self.sketch()
        with drawing("figure", sketch.alt, sketch.size, sketch.ratios, PRINT) as figure:
            sketch.draw(figure)
            figure.canvas.set_dpi(120)
            if path is not None:
                figure.canvas.savefig(path, dpi=200)
        return figure.canvas

    def _repr_html_(self) -> str:
        return card(self.svg(f"{type(self).__name__.lower()}-{id(self)}"), self.caption())


def needs_matplotlib() -> None:
    """Raise an error that says what to do if matplotlib is not installed.

    Raises:
        ImportError: it is not installed.

    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("drawings need matplotlib: pip install 'liquidtime[insight]'") from error


def card(svg: str, caption: str) -> str:
    """Return a figure as HTML for a notebook, with its light and dark colours.

    Args:
        svg: SVG from `Shown.svg`.
        caption: text below the figure.
    """
    from liquidtime.evaluation.drawing import DARK, PRINT

    def variables(palette: Any) -> str:
        named = [f"--{name}:{getattr(palette, name)}" for name in _VARIABLES]
        lines = [f"--series-{place}:{colour}" for place, colour in enumerate(palette.series)]
        return ";".join([*named, *lines, f"background:{palette.paper}", f"color:{palette.ink}"])

    return (
        "<style>.liquidtime-card{" + variables(PRINT) + ";max-width:640px;padding:8px;font-family:system-ui,sans-serif}"
        "@media (prefers-color-scheme:dark){.liquidtime-card{" + variables(DARK) + "}}"
        ".liquidtime-card svg{width:100%;height:auto}</style>"
        f'<figure class="liquidtime-card">{svg}<figcaption>{escape(caption)}</figcaption></figure>'
    )
