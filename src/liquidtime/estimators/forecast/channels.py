"""Choose the channels to forecast, and those whose future is known."""

from __future__ import annotations

from collections.abc import Sequence

from liquidtime.data import SeriesEncoder
from liquidtime.errors import unknown_choice


def find_channels(
    encoder: SeriesEncoder, targets: Sequence[str] | None, known: Sequence[str] | None
) -> tuple[list[int], list[int]]:
    """Return the positions of the channels to forecast, and of those whose future is known.

    Args:
        encoder: fitted; names the channels.
        targets: what is to be forecast; None for all numbers whose future is not known.
        known: what is known.

    Raises:
        ValueError: a name that is no channel of numbers, or is both, or nothing to forecast.

    """
    names, given = encoder.channels_, set(known or ())
    numeric = tuple(name for name in names if name not in encoder.categories_)
    if not numeric:
        raise ValueError("`X` must have a channel that is a number; all are categorical")
    for argument, chosen in (("targets", targets), ("known", known)):
        if isinstance(chosen, str):
            raise TypeError(f"`{argument}` must be a list of channels; got the text {chosen!r}")
        for name in chosen or ():
            if name not in numeric:
                raise unknown_choice(argument, name, numeric)
    both = given & set(targets or ())
    if both:
        raise ValueError(f"`targets` and `known` must be different channels; both have {sorted(both)[0]!r}")
    wanted = set(targets or numeric) - given
    if not wanted:
        raise ValueError("`known` must leave a channel to forecast; it has all that are numbers")
    known_places = [place for place, name in enumerate(names) if name in given]
    return [names.index(name) for name in numeric if name in wanted], known_places
