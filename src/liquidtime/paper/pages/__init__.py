"""Tables and figures made from the result files."""

from liquidtime.paper.pages.figures import ANIMATIONS, FIGURES, draw
from liquidtime.paper.pages.sections import SECTIONS
from liquidtime.paper.pages.tables import lines, markdown, page

__all__ = ["ANIMATIONS", "FIGURES", "SECTIONS", "draw", "lines", "markdown", "page"]
