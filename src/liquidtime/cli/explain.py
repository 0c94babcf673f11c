from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Data, Debug, Model, OldChannel, OldTime, OldUnit, OldValue, Strict
from liquidtime.cli.reading_options import ReadingOptions, with_reading

if TYPE_CHECKING:
    from liquidtime.data.reading import Table
    from liquidtime.evaluation import JobRecord
    from liquidtime.tasks import Task


@command
@with_reading
def explain(
    model: Model,
    data: Data,
    reading: ReadingOptions,
    id: Annotated[
        list[str] | None,
        typer.Option(
            "--id", help="Id of a series to explain; may be repeated (default: the series with the worst prediction)."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="HTML page to write.")] = Path("explain.html"),
    pictures: Annotated[
        Path | None, typer.Option("--pictures", help="Folder to which every figure is also written as an image.")
    ] = None,
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
    id_column: Annotated[
        str | None, typer.Option("--id-column", help="Column with the series ids, if not the one used in training.")
    ] = None,
    time: OldTime = None,
    channel: OldChannel = None,
    value: OldValue = None,
    time_unit: OldUnit = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="How many times each channel is shuffled between series.")
    ] = 3,
    series: Annotated[
        int, typer.Option("--series", min=2, help="Largest number of series used to measure which channels matter.")
    ] = 256,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    strict: Strict = False,
    force: Annotated[bool, typer.Option("--force", help="Replace --out if it exists.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Look inside a trained model: which channels matter, why it made a prediction, how it uses time.

    Use series that the model was not trained on. If their truth is known, the page shows how much worse the model gets
    without a channel; otherwise, how much its predictions change. The page is one self-contained file.
    """
    from liquidtime.cli.model_files import labelled
    from liquidtime.cli.printing import Printer
    from liquidtime.data.reading import sources_of
    from liquidtime.evaluation.insight import Neighbours
    from liquidtime.evaluation.insight import explain as look
    from liquidtime.files.places import check_file
    from liquidtime.scoring.model_files import columns_to_read, load, read_series
    from liquidtime.tasks import task_of

    inputs = (*sources_of(data), labels, reading.static_table)
    check_file(out, replace=force, endings=(".html", ".htm"), inputs=inputs, argument="--out")
    if pictures is not None:
        _check_pictures(pictures, force)
    printer = Printer(as_json)
    estimator, record = load(model)
    task = task_of(estimator)
    columns = columns_to_read(record, id=id_column, time=time, channel=channel, value=value, time_unit=time_unit)
    table, found = read_series(estimator, columns, data, reading, strict)
    truth: Any = None
    name = _truth(target, labels, table, task, record)
    if name is not None:
        other = id_column is not None
        found, truth = labelled(
            estimator, found, table, columns, reading, record, name, labels, labels_id, strict, other
        )
    for note in found.notes:
        printer.line(str(note))
    if truth is None and task.has_target:
        printer.line("the truth is not known: measuring how much predictions change, not how much worse they become")
    explanation = look(
        estimator, found, truth, id=id, neighbours=Neighbours.read(model), repeats=repeats, most_series=series,
        seed=seed,
    )  # fmt: skip
    explanation.save(out, f"Inside {model.absolute().name}")
    printer.line(str(explanation))
    printer.line(f"page    {out}")
    drawn = [] if pictures is None else explanation.pictures(pictures)
    if drawn:
        printer.line(f"{len(drawn)} pictures in {pictures}")
    printer.result(
        {"out": str(out), "pictures": [str(file) for file in drawn], "series": len(found), **explanation.to_dict()}
    )


def _truth(target: str | None, labels: Path | None, table: Table, task: Task, record: JobRecord | None) -> str | None:
    """Return the column with the truth, or None if there is none."""
    if not task.has_target:
        if labels is not None or target is not None:
            raise ValueError(f"--task {task.name} needs no truth besides the series; leave out --labels and --target")
        return None
    name = target or (record.target if record else None)
    if name is None and labels is not None:
        raise ValueError("the model does not record its target; give --target")
    return name if target is not None or labels is not None or name in table.frame.columns else None


def _check_pictures(folder: Path, force: bool) -> None:
    """Refuse, before any work, a folder whose files could be lost."""
    from liquidtime.files.places import refuse_sealed, refuse_unwritable

    refuse_sealed(folder, "--pictures", files=True)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"--pictures {folder} is a file; name a folder")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"--pictures {folder} is not empty; add --force to replace pictures in it")
    nearest = next(place for place in folder.absolute().parents if place.is_dir())
    refuse_unwritable((folder if folder.is_dir() else nearest) / "page", "--pictures")
