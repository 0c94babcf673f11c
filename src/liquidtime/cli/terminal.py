"""Make texts from files, such as channel names, safe to print on a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and newline, marks that change the direction of text, and lone surrogates."""


def printable(text: str) -> str:
    """Return a text with every character escaped that would control the terminal or hide other text."""
    return _UNSAFE.sub(lambda match: _spelled(match[0], r"\x{:02x}"), text)


def printable_json(text: str) -> str:
    """Return JSON with the same characters as JSON escapes, so that a parser restores them."""
    return _UNSAFE.sub(lambda match: _spelled(match[0], r"\u{:04x}"), text)


def _spelled(character: str, form: str) -> str:
    return form.format(ord(character)) if ord(character) < 256 else rf"\u{ord(character):04x}"
