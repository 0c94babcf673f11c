from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
)
from liquidtime.cli.reading_options import ReadingOptions, with_reading


@command
@with_reading
def evaluate(
    model: Model,
    data: Data,
    reading: ReadingOptions,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", help="Table with one row per series that has the truth (default: the truth is in DATA)."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Column with the truth, if not the one used in training.")
    ] = None,
    labels_id: Annotated[str | None, typer.Option("--labels-id", help="Id column of the table of labels.")] = None,
    id: OldId = None,
    time: OldTime = None,
    channel: OldChannel = None,
    value: OldValue = None,
    time_unit: OldUnit = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed of the bootstrap for the intervals.")] = 0,
    device: Device = None,
    strict: Strict = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Test a trained model on other series whose truth is known, with 95 % confidence intervals."""
    from liquidtime.cli.model_files import labelled
    from liquidtime.cli.printing import Printer
    from liquidtime.scoring.model_files import columns_to_read, load, read_series
    from liquidtime.tasks import task_of

    printer = Printer(as_json)
    estimator, record = load(model, device)
    columns = columns_to_read(record, id=id, time=time, channel=channel, value=value, time_unit=time_unit)
    table, series = read_series(estimator, columns, data, reading, strict)
    task = task_of(estimator)
    y: Any = None
    if not task.has_target:
        if labels is not None or target is not None:
            raise ValueError(f"--task {task.name} is tested on the series alone; leave out --labels and --target")
    else:
        truth = target or (record.target if record else None)
        series, y = labelled(
            estimator, series, table, columns, reading, record, truth, labels, labels_id, strict, id is not None
        )
    comparison = task.compare(estimator, "model", None, (series, y), seed)
    for note in series.notes:
        printer.line(str(note))
    unit = f", {task.unit}" if task.unit else ""
    printer.scores(comparison.figures, f"on {len(series):,} series{unit}, with 95 % confidence intervals")
    printer.result(
        {
            "model": str(model),
            "series": len(series),
            "figures": comparison.to_dict()["model"],
            "details": comparison.details(),
            "notes": [str(note) for note in series.notes],
        }
    )
