"""Align new data with the channels and categories of training."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

from liquidtime.data.container import SeriesSet


def aligned(
    data: SeriesSet,
    channels: Sequence[str],
    static_names: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    time_unit: str | None,
) -> SeriesSet:
    """Return the set with the columns of training.

    Missing channels and static features count as not observed, unknown ones are left out, and categories that training
    did not have become -1, each with a warning that names them.

    Args:
        data: the new data.
        channels: channels of training.
        static_names: static features of training.
        categories: categories of training.
        time_unit: time unit of training.

    Raises:
        ValueError: the time unit differs, no channel is known, or a category has become a number or vice versa.

    """
    _check_unit(data.time_unit, time_unit)
    if channels and not set(channels) & set(data.channels):
        raise ValueError(
            f"`data` must have channels of training ({', '.join(channels[:5])}); it has none of them, only "
            f"{', '.join(data.channels[:5])}"
        )
    warning_texts = [
        *_compared("channels", channels, data.channels),
        *_compared("static features", static_names, data.static_names),
    ]
    for name in (*data.channels, *data.static_names):
        if name in (*channels, *static_names) and (name in categories) != (name in data.categories):
            was = "categorical" if name in categories else "a number"
            raise ValueError(
                f"`data` must have {name!r} with the same kind of values as in training, where it was {was}; check "
                "`categorical`."
            )
    known_categories = {name: categories.get(name, ()) for name in data.categories}
    result = data.arranged_as(channels, static_names, known_categories | dict(categories))
    for names, which in ((channels, "values"), (static_names, "static")):
        for position, name in enumerate(names):
            strange = [label for label in data.categories.get(name, ()) if label not in categories[name]]
            if not strange:
                continue
            count = sum(int((getattr(part, which)[:, position] == -1).sum()) for _, part in result.blocks())
            if count:
                text = (
                    f"{count} values of {name!r} are categories unknown in training, used as missing: {_list(strange)}"
                )
                warning_texts.append(text)
    for text in warning_texts:
        warnings.warn(text, UserWarning, stacklevel=3)
    return result


def _check_unit(unit: str | None, known: str | None) -> None:
    if unit != known:
        hint = f"Convert it with .in_unit({known!r})." if unit and known else "Read it with the same `time_unit`."
        raise ValueError(f"`data` must have times in the unit of training, {known!r}; got {unit!r}. {hint}")


def _compared(kind: str, known: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    absent, extra = (
        [name for name in known if name not in names],
        [name for name in names if name not in known],
    )
    if absent:
        yield f"{len(absent)} {kind} of training are missing and treated as not observed: {_list(absent)}"
    if extra:
        yield f"{len(extra)} {kind} were not in training and are left out: {_list(extra)}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
