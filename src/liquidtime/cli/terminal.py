"""Texts from files, such as names of channels, made safe for a terminal."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, marks that turn the direction of writing, and halves of characters."""


def printable(text: str) -> str:
    """Return a text in which everything that a terminal obeys, or that hides what stands there, is spelled out."""
    return _UNSAFE.sub(lambda match: _spelled(match[0], r"\x{:02x}"), text)


def printable_json(text: str) -> str:
    """Return JSON in which the same characters stand as JSON's own escapes; a reader gets them back."""
    return _UNSAFE.sub(lambda match: _spelled(match[0], r"\u{:04x}"), text)


def _spelled(character: str, form: str) -> str:
    return form.format(ord(character)) if ord(character) < 256 else rf"\u{ord(character):04x}"
