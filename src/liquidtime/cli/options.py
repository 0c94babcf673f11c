"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Measurements: CSV, TSV, text, Parquet, Arrow or Excel files; folders or patterns of files; a database; "
        "or "
        "a stored set written by `pack`.",
        show_default=False,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder written by `train`.", show_default=False)]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, and everything else on standard error.")
]
Device = Annotated[
    str | None,
    typer.Option("--device", help="cpu, cuda, mps, or auto for the first GPU that is available (default: cpu)."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Ray cluster that does the work: ray://HOST:PORT, or auto on one of its machines; see docs/scaling.md.",
        show_default=False,
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")]

Channel = Annotated[
    str | None, typer.Option("--channel", help="If each row is one measurement: the column with channel names.")
]
Value = Annotated[str | None, typer.Option("--value", help="If each row is one measurement: the column with values.")]
Values = Annotated[
    list[str] | None,
    typer.Option("--values", help="If each channel is a column: the channels to use (default: all other columns)."),
]
Static = Annotated[
    list[str] | None, typer.Option("--static", help="Columns or channels that do not change within a series.")
]
Categorical = Annotated[
    list[str] | None, typer.Option("--categorical", help="Columns or channels that hold categories.")
]
TimeUnit = Annotated[str | None, typer.Option("--time-unit", help="Unit of the times: ns, us, ms, s, min, h or D.")]
Target = Annotated[str | None, typer.Option("--target", help="Column to predict; for multi-label, several columns.")]
Labels = Annotated[
    Path | None,
    typer.Option("--labels", help="Table with one row per series that has --target (default: --target is in DATA)."),
]
LabelsId = Annotated[
    str | None, typer.Option("--labels-id", help="Id column of the table of labels (default: the same as --id).")
]

OldId = Annotated[str | None, typer.Option("--id", help="Column with the series ids, if not the one used in training.")]
OldTime = Annotated[str | None, typer.Option("--time", help="Column with the times, if not the one used in training.")]
OldChannel = Annotated[
    str | None, typer.Option("--channel", help="Column with channel names, if not the one used in training.")
]
OldValue = Annotated[str | None, typer.Option("--value", help="Column with values, if not the one used in training.")]
OldUnit = Annotated[
    str | None, typer.Option("--time-unit", help="Unit of the times, if not that of training; times are converted.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse data that would have to be repaired.")]


def listed(texts: list[str] | None) -> list[str]:
    """Return the names in the texts of a repeated option, each of which may hold several, separated by commas."""
    return [name.strip() for text in texts or [] for name in text.split(",") if name.strip()]


def numbers(option: str, texts: list[str] | None) -> list[float]:
    """Return the numbers in the texts of a repeated option, each of which may hold several, separated by commas.

    Raises:
        ValueError: a text is not a number.

    """
    values = []
    for text in listed(texts):
        try:
            values.append(float(text))
        except ValueError:
            raise ValueError(f"{option} must be numbers, such as 6 or 6,24; got {text!r}") from None
    return values


def refuse_device(cluster: str | None, device: str | None) -> None:
    """Refuse a device other than the CPU on a cluster.

    Raises:
        ValueError: one was named.

    """
    if cluster is not None and device not in (None, "cpu"):
        raise ValueError(f"--device {device} is for this machine and for torchrun; --cluster uses CPUs only")
