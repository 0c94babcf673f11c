from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Data, Debug, Model, OldChannel, OldId, OldTime, OldUnit, OldValue, Strict

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars

    from liquidtime.tasks import Task


@command
def predict(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="File to write, .csv or .parquet.", show_default=False)],
    horizon: Annotated[
        list[float] | None,
        typer.Option("--horizon", help="Forecasts: time after the last sample of a series; may be repeated."),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option("--threshold", help="Two classes: probability from which on the second is said, 0 to 1."),
    ] = None,
    intervals: Annotated[
        float | None,
        typer.Option("--intervals", help="Values and forecasts: share of truths that intervals hold, such as 0.9."),
    ] = None,
    id: OldId = None,
    time: OldTime = None,
    channel: OldChannel = None,
    value: OldValue = None,
    time_unit: OldUnit = None,
    strict: Strict = False,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Predict new series with a trained model.

    Writes one row per series with its id, `prediction`, and for classes `probability_<class>`, for values the ends of
    their intervals, `low` and `high`; of classes of samples one row per sample with its time; of forecasts one row per
    series, horizon and channel. The columns are those of training unless others are named.
    """
    from liquidtime.cli.model_files import columns_to_read, load
    from liquidtime.cli.printing import Printer
    from liquidtime.data import read_frame
    from liquidtime.tasks import task_of

    _check_out(out, model, data, force)
    printer = Printer(as_json)
    estimator, record = load(model)
    task = task_of(estimator)
    asked = {"horizons": horizon or None, "threshold": threshold, "intervals": intervals}
    options = {name: value for name, value in asked.items() if value is not None}
    typed = {"horizons": "--horizon", "threshold": "--threshold", "intervals": "--intervals"}
    check_options(task, {name: typed[name] for name in options})
    columns = columns_to_read(record, id=id, time=time, channel=channel, value=value, time_unit=time_unit)
    encoder = estimator.encoder_
    series = columns.read_new(read_frame(data), encoder.channels_, encoder.time_unit_, strict)
    for note in series.notes:
        printer.line(str(note))
    table = task.table(estimator, series, columns.id, **options)
    write(table, out, replace=force)
    printer.line(f"{len(series):,} series predicted, written to {out}")
    printer.result(
        {
            "out": str(out),
            "series": len(series),
            "rows": len(table),
            "columns": table.columns,
            "notes": [str(note) for note in series.notes],
        }
    )


def check_options(task: Task, options: Mapping[str, str]) -> None:
    """Refuse options that are for other tasks.

    Args:
        task: of the model.
        options: what was typed, by the name that tasks have for it.
    """
    from liquidtime.tasks import TASKS

    for name, typed in options.items():
        if name not in task.options:
            names = " or ".join(other.name for other in TASKS.values() if name in other.options)
            raise ValueError(f"{typed} is for a model of --task {names}")


def write(table: polars.DataFrame, out: Path, *, replace: bool) -> None:
    """Write a table by the ending of its name, whole or not at all."""
    import io

    from liquidtime.training.artifact import write_file

    buffer = io.BytesIO()
    if out.suffix.lower() == ".csv":
        table.write_csv(buffer)
    else:
        table.write_parquet(buffer)
    write_file(out.absolute(), buffer.getvalue(), replace=replace)


def _check_out(out: Path, model: Path, data: Path, force: bool) -> None:
    """Refuse, before any work, a file that cannot be written or must not be lost."""
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"--out must end in .csv or .parquet; got {out.name!r}")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out {out} must lie in a folder that exists; there is no {out.absolute().parent}")
    if out.exists() and data.exists() and out.samefile(data):
        raise ValueError(f"--out {out} is the file of measurements itself; choose another name")
    if model.resolve() in (out.absolute().parent.resolve() / out.name).parents:
        raise ValueError(f"--out {out} must not lie in the model folder, whose files are sealed; choose another place")
    if out.is_dir() and not out.is_symlink():
        raise IsADirectoryError(f"--out {out} is a folder; name a file")
    if not force and (out.exists() or out.is_symlink()):
        raise FileExistsError(f"--out {out} exists; add --force to replace it, or choose another name")
