"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Measurements: CSV, TSV, text, Parquet, Arrow or Excel files, folders, patterns, a database, or a stored "
        "set that `pack` wrote.",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder made by `train`.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, all else on standard error.")]
Device = Annotated[
    str | None,
    typer.Option("--device", help="cpu, cuda, mps, or auto for the first that is there (default: cpu)."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]

Channel = Annotated[str | None, typer.Option("--channel", help="For one measurement per row: column of channel names.")]
Value = Annotated[str | None, typer.Option("--value", help="For one measurement per row: column of values.")]
Values = Annotated[
    list[str] | None,
    typer.Option("--values", help="For one column per channel: the channels (default: all other columns)."),
]
Static = Annotated[
    list[str] | None, typer.Option("--static", help="Columns or channels that do not change within a series.")
]
Categorical = Annotated[list[str] | None, typer.Option("--categorical", help="Names that are categories.")]
TimeUnit = Annotated[str | None, typer.Option("--time-unit", help="ns, us, ms, s, min, h or D.")]
Target = Annotated[str | None, typer.Option("--target", help="Column to predict; of multi-label several.")]
Labels = Annotated[
    Path | None,
    typer.Option("--labels", help="Table with one row per series; without it --target is a column of DATA."),
]
LabelsId = Annotated[str | None, typer.Option("--labels-id", help="Id column of the labels table (default: --id).")]

OldId = Annotated[str | None, typer.Option("--id", help="Column of ids, if not that of training.")]
OldTime = Annotated[str | None, typer.Option("--time", help="Column of times, if not that of training.")]
OldChannel = Annotated[str | None, typer.Option("--channel", help="Column of channel names, if not that of training.")]
OldValue = Annotated[str | None, typer.Option("--value", help="Column of values, if not that of training.")]
OldUnit = Annotated[
    str | None, typer.Option("--time-unit", help="Unit of the times, if not that of training; they are converted.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse data that needs a repair instead of repairing it.")]


def listed(given: list[str] | None) -> list[str]:
    """Return names given one option each, or several in one, with commas."""
    return [name.strip() for text in given or [] for name in text.split(",") if name.strip()]


def numbers(option: str, given: list[str] | None) -> list[float]:
    """Return numbers given one option each, or several in one, with commas.

    Raises:
        ValueError: a text that is no number.

    """
    found = []
    for text in listed(given):
        try:
            found.append(float(text))
        except ValueError:
            raise ValueError(f"{option} must be numbers, such as 6 or 6,24; got {text!r}") from None
    return found
