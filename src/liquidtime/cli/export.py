from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Debug, Model, OldChannel, OldId, OldTime, OldUnit, OldValue, Strict
from liquidtime.cli.reading_options import ReadingOptions, with_reading

if TYPE_CHECKING:
    from liquidtime.cli.printing import Printer
    from liquidtime.export import Exported


class Target(StrEnum):
    """The formats to which a model can be exported."""

    ONNX = "onnx"
    C = "c"
    WEB = "web"


class Part(StrEnum):
    """The parts of a model that can be exported."""

    ALL = "all"
    NETWORKS = "networks"


@command
@with_reading
def export(
    model: Model,
    reading: ReadingOptions,
    to: Annotated[Target, typer.Option("--to", help="Format to write.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.", show_default=False)],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="Measurements to test the export with (default: random ones).", show_default=False
        ),
    ] = None,
    part: Annotated[
        Part, typer.Option("--part", help="Stacks: `networks` leaves out the other parts, which need whole series.")
    ] = Part.ALL,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory", min=2, help="Forecasters: number of values to remember per channel.", show_default=False
        ),
    ] = None,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8", help="c and web: store weights in 8 bits, a quarter of the size; web always does so above 1 MB."
        ),
    ] = False,
    name: Annotated[str, typer.Option("--name", help="c: prefix of the names of files and functions.")] = "model",
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="With --int8 or --part: table with the truth, to measure what they change."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="With --int8 or --part: column with the truth, if not the one used in training."),
    ] = None,
    labels_id: Annotated[str | None, typer.Option("--labels-id", help="Id column of the table of labels.")] = None,
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
    """Write a trained model for use outside Python: ONNX files, C for a microcontroller, or a web page.

    The exported files are run on 20 series, and their predictions are compared with those of the model.
    """
    from liquidtime import export as room
    from liquidtime.cli.model_files import labelled
    from liquidtime.cli.printing import Printer
    from liquidtime.export.parts import StackRefused
    from liquidtime.scoring.model_files import columns_to_read, load, read_series

    measured = int8 or part is Part.NETWORKS
    _check(out, model, to, int8, measured, name, data, labels, target, force)
    printer = Printer(as_json)
    estimator, record = load(model)
    try:
        room.step_of(estimator, part, memory=memory)  # refuses models that cannot be exported before data are read
    except StackRefused as refusal:
        words = ["liquidtime", "export", model, *([data] if data else []), "--to", to, "--out", out]
        raise ValueError(f"{refusal.reason} Run: {shlex.join(map(str, [*words, '--part', 'networks']))}") from None
    series = y = None
    if data is not None:
        columns = columns_to_read(record, id=id, time=time, channel=channel, value=value, time_unit=time_unit)
        table, series = read_series(estimator, columns, [data], reading, strict)
        if measured and (labels is not None or target is not None):
            truth = target or (record.target if record else None)
            series, y = labelled(
                estimator, series, table, columns, reading, record, truth, labels, labels_id, strict, id is not None
            )
        for note in series.notes:
            printer.line(str(note))
    if to is Target.ONNX:
        result = room.onnx(estimator, out, data=series, target=y, part=part, memory=memory)
    elif to is Target.C:
        result = room.c(estimator, out, data=series, target=y, part=part, memory=memory, int8=int8, name=name)
    else:
        result = room.web(estimator, out, data=series, target=y, part=part, memory=memory, int8=int8 or None)
    _print(printer, result, to)


def _print(printer: Printer, result: Exported, to: Target) -> None:
    for file, size in result.sizes.items():
        printer.line(f"{size:>12,} bytes  {result.path / file}")
    for name, text in result.facts.items():
        printer.line(f"{name}: {text}")
    printer.line(f"largest difference from the model's predictions: {result.largest_difference:.2g}")
    printer.line(f"time for one sample and its prediction on this machine: {result.microseconds:.3g} microseconds")
    figures: dict[str, Any] = {"largest_difference": result.largest_difference, "microseconds": result.microseconds}
    about = {"out": str(result.path), "to": str(to), "sizes": dict(result.sizes), "facts": dict(result.facts)}
    printer.result(about | figures)


def _check(
    out: Path,
    model: Path,
    to: Target,
    int8: bool,
    measured: bool,
    name: str,
    data: Path | None,
    labels: Path | None,
    target: str | None,
    force: bool,
) -> None:
    """Refuse, before any work, a folder that cannot be written and options that would have no effect."""
    from liquidtime.export.folder import is_export
    from liquidtime.files.places import refuse_sealed, refuse_unwritable

    if int8 and to is Target.ONNX:
        raise ValueError("--int8 is for --to c and --to web")
    if name != "model" and to is not Target.C:
        raise ValueError("--name is for --to c")
    for option, given in (("--labels", labels), ("--target", target)):
        if given is not None and not (measured and data is not None):
            raise ValueError(
                f"{option} is for measuring what --int8 or --part networks changes on DATA; give one of those and "
                "DATA, or "
                f"leave {option} out"
            )
    if not out.absolute().parent.is_dir():
        raise FileNotFoundError(f"--out {out} must be in a folder that exists; there is no {out.absolute().parent}")
    if out.resolve() == model.resolve():
        raise ValueError(f"--out {out} must not be the model folder; choose another name")
    refuse_sealed(out, "--out")
    if not force and (out.exists() or out.is_symlink()):
        raise FileExistsError(f"--out {out} exists; add --force to replace it, or choose another name")
    if out.is_symlink() or (out.exists() and not is_export(out)):
        raise FileExistsError(f"--out {out} exists and is not an exported model; choose another name")
    refuse_unwritable(out, "--out")
