"""Error messages: the argument, what was needed, what was passed, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["nearest", "unknown_choice", "wrong_shape"]


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``'; did you mean `x`?'`` for the known word closest to `word`, or an empty string."""
    spelled = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), spelled, n=1, cutoff=0.5)
    return f"; did you mean `{spelled[matches[0]]}`?" if matches else ""


def unknown_choice(argument: str, value: object, choices: Iterable[object]) -> ValueError:
    """Return the error for a name that is not among the choices."""
    names = [str(choice) for choice in choices]
    listed = ", ".join(repr(name) for name in names)
    return ValueError(f"`{argument}` must be one of {listed}; got {value!r}{nearest(str(value), names)}")


def wrong_shape(
    argument: str, axes: str, needed: Sequence[int | str], got: Sequence[int], hint: str = ""
) -> ValueError:
    """Return the error for a tensor of the wrong shape, such as axes ``"(B, T)"`` with sizes ``(32, 49)`` needed."""
    sizes = "(" + ", ".join(str(size) for size in needed) + ("," if len(needed) == 1 else "") + ")"
    names = f"{axes} = {sizes}" if axes != sizes else axes
    text = f"`{argument}` must have shape {names}; got {tuple(got)}."
    return ValueError(f"{text} {hint}" if hint else text)
