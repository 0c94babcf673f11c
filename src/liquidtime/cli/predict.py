from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from liquidtime.cli.failing import command
from liquidtime.cli.options import AsJson, Data, Debug, Model, OldChannel, OldId, OldTime, OldUnit, OldValue, Strict

if TYPE_CHECKING:
    import polars

    from liquidtime.cli.columns import Columns
    from liquidtime.cli.model_files import JobRecord
    from liquidtime.data import SeriesSet


@command
def predict(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="File to write, .csv or .parquet.", show_default=False)],
    horizon: Annotated[
        list[float] | None,
        typer.Option("--horizon", help="Forecasts: so long after a series' last sample; may be given several times."),
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

    Writes the ids under their own name, `prediction`, and for classes `probability_<class>`; forecasts one row for each
    series, horizon and channel. The columns are those of training unless others are named.
    """
    from liquidtime.cli.model_files import load
    from liquidtime.cli.printing import Printer
    from liquidtime.data import read_frame

    _check_out(out, model, data, force)
    printer = Printer(as_json)
    estimator, record = load(model)
    columns = columns_of(record, id=id, time=time, channel=channel, value=value, time_unit=time_unit)
    encoder = estimator.encoder_
    series = columns.read_new(read_frame(data), encoder.channels_, encoder.time_unit_, strict)
    for note in series.notes:
        printer.line(str(note))
    table = predictions(estimator, series, columns.id, horizon)
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


def columns_of(record: JobRecord | None, **given: str | None) -> Columns:
    """Return the columns of training with those given in their place."""
    from liquidtime.cli.columns import Columns

    if record is not None:
        return record.columns.changed(**given)
    if given.get("id") is None or given.get("time") is None:
        raise ValueError("the model was not trained on the command line and remembers no columns; give --id and --time")
    return Columns(str(given["id"]), str(given["time"])).changed(**given)


def predictions(estimator: Any, series: SeriesSet, id: str, horizon: list[float] | None) -> polars.DataFrame:
    """Return the table of predictions.

    Args:
        estimator: fitted.
        series: the S series.
        id: what their ids are called.
        horizon: of a forecaster.
    """
    import numpy as np
    import polars

    if hasattr(estimator, "channels_"):
        ahead = np.array(horizon or [estimator.encoder_.time_scale_], dtype=np.float64)
        values = estimator.predict(series, horizons=ahead)  # (S, Q, C)
        S, Q, C = values.shape
        table = {
            id: np.repeat(series.ids, Q * C),
            "horizon": np.tile(np.repeat(ahead, C), S),
            "channel": list(estimator.channels_) * (S * Q),
            "prediction": values.reshape(-1),
        }
    else:
        if horizon:
            raise ValueError("--horizon is for a model of --task forecast")
        table = {id: series.ids}
        if hasattr(estimator, "classes_"):
            chances = estimator.predict_proba(series)
            table["prediction"] = estimator.classes_[chances.argmax(axis=1)]
            table |= {f"probability_{label}": chances[:, place] for place, label in enumerate(estimator.classes_)}
        else:
            values = estimator.predict(series)
            if values.ndim == 1:
                table["prediction"] = values
            else:
                table |= {f"prediction_{place}": values[:, place] for place in range(values.shape[1])}
    if len({id, *table}) < len(table) or id in ("prediction", "horizon", "channel"):
        raise ValueError(f"the ids' column {id!r} has the name of a column of predictions; rename it")
    return polars.DataFrame({name: polars.Series(name, list(column)) for name, column in table.items()})


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
