from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import (
    AsJson,
    Data,
    Debug,
    Device,
    Model,
    OldChannel,
    OldId,
    OldTime,
    OldUnit,
    OldValue,
    Strict,
    numbers,
)
from liquidtime.cli.reading_options import ReadingOptions, with_reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from liquidtime.cli.printing import Printer
    from liquidtime.tasks import Task

_MOST_NOTES = 5
"""Shards whose notes are printed."""


@command
@with_reading
def predict(
    model: Model,
    data: Data,
    reading: ReadingOptions,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="File to write, .csv or .parquet; or a folder, with one Parquet file for each shard of DATA.",
            show_default=False,
        ),
    ],
    horizon: Annotated[
        list[str] | None,
        typer.Option("--horizon", help="Forecasts: times after the last sample of a series, such as 6,24."),
    ] = None,
    intervals: Annotated[
        float | None,
        typer.Option("--intervals", help="Values and forecasts: share of truths that intervals hold (default: 0.9)."),
    ] = None,
    each_sample: Annotated[
        bool,
        typer.Option(
            "--each-sample",
            help="Write one row per sample: the prediction from the samples up to it; of forecasts, how far each value "
            "lies from the forecast that the samples before it make.",
        ),
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0.0,
            max=1.0,
            help="Two classes: probability of the second from which it is predicted (default: the model's).",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Processes that predict the shards of --out FOLDER."),
    ] = None,
    id: OldId = None,
    time: OldTime = None,
    channel: OldChannel = None,
    value: OldValue = None,
    time_unit: OldUnit = None,
    device: Device = None,
    strict: Strict = False,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Predict new series with a trained model.

    Writes one row per series with its id, the `time` of its last sample, `prediction`, for classes
    `probability_<class>`, and for values the ends of their intervals, `low` and `high`; with --each-sample, and for
    models of samples, one such row per sample; of forecasts one row per series, horizon and channel, with the ends of
    its prediction interval. With --each-sample, forecasts have one row per value that was measured, with the forecast
    of it, whether it lies `outside` of the interval of 99 % of usual values (--intervals), and its anomaly `score`: how
    many times as large its error is as was to be expected. Samples at the end of a series that hold `--known` channels
    of training alone are its future. The columns are those of training unless others are named.

    With a folder as --out, every shard of DATA (a folder of files, a pattern, or several files) becomes one file there,
    by --workers processes. The same command again continues where it was stopped: files that are there are left as they
    are. A series must lie in one shard; `liquidtime pack` brings together those that do not.
    """
    from liquidtime.cli.printing import Printer
    from liquidtime.scoring.model_files import columns_to_read, load, read_series
    from liquidtime.scoring.prediction_files import prediction_slices, write_tables
    from liquidtime.tasks import task_of

    in_shards = out.is_dir() or not out.suffix
    if not in_shards:
        if workers is not None:
            raise ValueError("--workers predicts shards into a folder, one file for each; name a folder as --out")
        _check_out(out, model, data, force)
    printer = Printer(as_json)
    estimator, record = load(model, device)
    task = task_of(estimator)
    typed = {
        "horizons": ("--horizon", numbers("--horizon", horizon) or None),
        "intervals": ("--intervals", intervals),
        "threshold": ("--threshold", threshold),
    }
    options = {name: value for name, (_, value) in typed.items() if value is not None}
    check_options(task, {name: typed[name][0] for name in options})
    if in_shards:
        named = {"id": id, "time": time, "channel": channel, "value": value, "time_unit": time_unit}
        _predict_shards(
            printer, model, data, out, workers=workers or 1, reading=reading.plain(), each_sample=each_sample,
            strict=strict, replace=force, device=device, show=sys.stderr.isatty(), **named, **options,
        )  # fmt: skip
        return
    columns = columns_to_read(record, id=id, time=time, channel=channel, value=value, time_unit=time_unit)
    _, series = read_series(estimator, columns, data, reading, strict)
    for note in series.notes:
        printer.line(str(note))
    tables = prediction_slices(task, estimator, series, columns.id, each_sample=each_sample, **options)
    rows, names = write_tables(tables, out, replace=force)
    printer.line(f"{len(series):,} series predicted, written to {out}")
    printer.result(
        {
            "out": str(out),
            "series": len(series),
            "rows": rows,
            "columns": names,
            "notes": [str(note) for note in series.notes],
        }
    )


def _predict_shards(printer: Printer, model: Path, data: Sequence[str], out: Path, **arguments: Any) -> None:
    """Predict shards into a folder, and say what came of it."""
    from liquidtime.scoring import predict_shards

    done = predict_shards(model, list(data), out, **arguments)
    for name, notes in list(done.notes.items())[:_MOST_NOTES]:
        for note in notes:
            printer.line(f"{name}: {note}")
    if len(done.notes) > _MOST_NOTES:
        printer.line(f"… and notes on {len(done.notes) - _MOST_NOTES} more shards")
    there = f", {done.skipped} were there already" if done.skipped else ""
    printer.line(
        f"{len(done.files) - done.skipped} of {len(done.files)} shards predicted{there}: {done.series:,} series, "
        f"written to {out}"
    )
    printer.result(
        {
            "out": str(out),
            "shards": len(done.files),
            "skipped": done.skipped,
            "series": done.series,
            "rows": done.rows,
            "notes": {name: list(notes) for name, notes in done.notes.items()},
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


def _check_out(out: Path, model: Path, data: Sequence[str], force: bool) -> None:
    """Refuse, before any work, a file that cannot be written or must not be lost."""
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"--out must end in .csv or .parquet, or be a folder; got {out.name!r}")
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out {out} must lie in a folder that exists; there is no {out.absolute().parent}")
    if out.exists() and any(Path(source).exists() and out.samefile(source) for source in data):
        raise ValueError(f"--out {out} is the file of measurements itself; choose another name")
    if model.resolve() in (out.absolute().parent.resolve() / out.name).parents:
        raise ValueError(f"--out {out} must not lie in the model folder, whose files are sealed; choose another place")
    if not force and (out.exists() or out.is_symlink()):
        raise FileExistsError(f"--out {out} exists; add --force to replace it, or choose another name")
