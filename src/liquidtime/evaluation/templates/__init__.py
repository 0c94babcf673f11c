"""Templates of the pages, and how numbers are formatted in them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any


def fill(name: str, **values: Any) -> str:
    """Return a page.

    Args:
        name: name of the template.
        **values: its contents.

    Raises:
        ImportError: jinja2 is not installed.

    """
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("a page needs jinja2: pip install 'liquidtime[report]'") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "share": share}
    return environment.get_template(name).render(**values)


def number(value: float | None) -> str:
    """Return a number as text with at most four significant digits, or as a whole number if it is one or large."""
    if value is None or not math.isfinite(value):
        return "–"
    if (float(value).is_integer() or abs(value) >= 1000) and abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def share(value: float) -> str:
    """Return a share as a percentage, which is 0 or 100 only if it is exactly that."""
    if 0 < value < 0.001:
        return "< 0.1 %"
    if 0.999 < value < 1:
        return "> 99.9 %"
    return f"{100 * value:.1f} %"
