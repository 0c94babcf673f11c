"""Tables as Markdown writes them."""

from __future__ import annotations


def cells(*values: str) -> str:
    """Return one line of a table."""
    return "| " + " | ".join(values) + " |"


def head(*names: str) -> list[str]:
    """Return the two lines that begin a table."""
    return [cells(*names), cells(*["---"] * len(names))]
