"""Tables and figures from the result files."""

from liquidtime.paper.pages.figures import ANIMATIONS, FIGURES, draw
from liquidtime.paper.pages.sections import SECTIONS
from liquidtime.paper.pages.tables import is_page, lines, markdown, page

__all__ = ["ANIMATIONS", "FIGURES", "SECTIONS", "draw", "is_page", "lines", "markdown", "page"]
