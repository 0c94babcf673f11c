from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import (
    AsJson,
    Cluster,
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
"""Number of shards whose notes are printed."""


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
            help="File to write, .csv or .parquet; or a folder, for one Parquet file per shard of DATA.",
            show_default=False,
        ),
    ],
    horizon: Annotated[
        list[str] | None,
        typer.Option("--horizon", help="Forecasts: horizons after the last sample of a series, such as 6,24."),
    ] = None,
    intervals: Annotated[
        float | None,
        typer.Option(
            "--intervals",
            help="Regression and forecasts: share of true values that the intervals should contain (default: 0.9).",
        ),
    ] = None,
    each_sample: Annotated[
        bool,
        typer.Option(
            "--each-sample",
            help="Write one row per sample: the prediction from the samples up to it; for forecasts, how far each "
            "value is from its forecast, which uses the samples before it.",
        ),
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0.0,
            max=1.0,
            help="Two classes: predict the second from this probability on (default: the model's threshold).",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Processes that predict shards, if --out is a folder (default: 1; one per CPU of a cluster).",
        ),
    ] = None,
    cluster: Cluster = None,
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

    Writes one row per series with its id, the `time` of its last sample, and its `prediction`; for classes also
    `probability_<class>`, and for numbers `low` and `high`, the ends of an interval. With --each-sample, and for models
    that classify samples, writes one such row per sample. Forecasts have one row per series, horizon and channel, with
    the ends of the prediction interval. With --each-sample, forecasts have one row per measured value: its forecast,
    whether the value lies `outside` the interval that contains 99 % of usual values (see --intervals), and an anomaly
    `score`, the ratio of its error to the expected error. If the last samples of a series have values only in the
    --known channels of training, they are taken as its known future. Columns have the same names as in training unless
    you name others.

    If --out is a folder, every shard of DATA (a folder of files, a pattern, or several files) becomes one file in it,
    predicted by --workers processes, or on the machines of --cluster. To resume after an interruption, repeat the
    command: existing files are kept. Each series must lie in one shard; `liquidtime pack` brings together series that
    are spread over several.
    """
    from liquidtime.cli.options import refuse_device
    from liquidtime.cli.printing import Printer
    from liquidtime.data.reading import sources_of
    from liquidtime.files.places import check_file
    from liquidtime.scoring.model_files import columns_to_read, load, read_series
    from liquidtime.scoring.prediction_files import prediction_slices, write_tables
    from liquidtime.tasks import task_of

    in_shards = out.is_dir() or not out.suffix
    if not in_shards:
        for option, value_of in (("--workers", workers), ("--cluster", cluster)):
            if value_of is not None:
                raise ValueError(f"{option} is for predicting shards into a folder; name a folder as --out")
        inputs = (*sources_of(data), reading.static_table)
        check_file(out, replace=force, endings=(".csv", ".parquet"), inputs=inputs, argument="--out")
    refuse_device(cluster, device)
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
            printer, model, data, out, workers=workers, cluster=cluster, reading=reading.plain(),
            each_sample=each_sample, strict=strict, replace=force, device=device, show=sys.stderr.isatty(), **named,
            **options,
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
    """Predict shards into a folder and print a summary."""
    from liquidtime.scoring import predict_shards

    done = predict_shards(model, list(data), out, **arguments)
    for name, notes in list(done.notes.items())[:_MOST_NOTES]:
        for note in notes:
            printer.line(f"{name}: {note}")
    if len(done.notes) > _MOST_NOTES:
        printer.line(f"… and notes on {len(done.notes) - _MOST_NOTES} more shards")
    skipped = f", {done.skipped} had been predicted before" if done.skipped else ""
    printer.line(
        f"{len(done.files) - done.skipped} of {len(done.files)} shards predicted{skipped}: {done.series:,} series, "
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
        task: task of the model.
        options: options on the command line, by the name that tasks use for them.
    """
    from liquidtime.tasks import TASKS

    for name, typed in options.items():
        if name not in task.options:
            names = " or ".join(other.name for other in TASKS.values() if name in other.options)
            raise ValueError(f"{typed} is for a model of --task {names}")
