"""Predictions from frame to frame, with the model loaded once per process."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.scoring.reading_options import ReadingOptions

if TYPE_CHECKING:
    import polars

    from liquidtime.data.reading import Table
    from liquidtime.evaluation import JobRecord
    from liquidtime.scoring.columns import Columns


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model folder that this process has loaded.

    Args:
        estimator: the model.
        record: the job that it was trained for; None where it was saved without one.
        seal: sha256 of the folder's manifest, which seals every file of it.
    """

    estimator: Any
    record: JobRecord | None
    seal: str


_LOCK = threading.Lock()
_LOADED: dict[tuple[Path, str | None], LoadedModel] = {}
"""The model that was used last, by its folder and device: a worker has one model, used again and again."""


def loaded(folder: str | Path, device: str | None = None) -> LoadedModel:
    """Return the model of a folder; it is read once, and again where the folder was written anew.

    Args:
        folder: the model folder.
        device: to predict on; None for the model's own.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file of it is not as it was written.

    """
    from liquidtime.scoring.model_files import load

    path = Path(folder).resolve()
    with _LOCK:
        seal = _seal(path)
        own = _LOADED.get((path, device))
        if own is None or own.seal != seal:
            estimator, record = load(path, device)
            _LOADED.clear()
            own = _LOADED[path, device] = LoadedModel(estimator, record, _seal(path))
        return own


def _seal(folder: Path) -> str:
    import hashlib

    from liquidtime.files.sealed import MANIFEST

    try:
        return hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    except OSError:
        return ""  # `load` says what is wrong with it


def predict_frame(
    frame: Any,
    model: str | Path,
    *,
    id: str | None = None,
    time: str | None = None,
    channel: str | None = None,
    value: str | None = None,
    time_unit: str | None = None,
    each_sample: bool = False,
    strict: bool = False,
    static_table: str | None = None,
    **options: Any,
) -> Any:
    """Return a table of predictions for a table of measurements, as a frame of the same library.

        lt.predict_frame(table, "model/")                                          pandas, polars or pyarrow
        measurements.map_partitions(lt.predict_frame, "model/", meta=…)            Dask
        measurements.mapInPandas(lambda parts: (lt.predict_frame(part, "model/") for part in parts), schema)   Spark

    The model is loaded once per process, and again where its folder was written anew. The frame must hold whole series:
    what is known of a series in another frame is not seen. A frame without rows gives a table without rows, with the
    columns and types of predictions.

    Args:
        frame: measurements as in training: a frame of pandas, polars or pyarrow.
        model: the model folder.
        id: column of ids, where it is not that of training; as are the next four.
        time: column of times.
        channel: column of channel names.
        value: column of values.
        time_unit: of the times.
        each_sample: one row per sample, from the samples up to it, instead of one per series.
        strict: refuse what would be repaired.
        static_table: file with one row per series, where the model was trained with one.
        **options: of the model's task: `horizons`, `intervals`, `threshold`.

    Returns:
        what `liquidtime predict` writes: ids, `time` of the last sample, `prediction`, and more by task.

    Raises:
        FileNotFoundError: there is no such model folder.
        TypeError: `frame` is no frame.
        ValueError: it lacks a column, or a value of it cannot be.

    """
    import narwhals as nw

    from liquidtime.data.reading import Table
    from liquidtime.data.reading.opening import open_table
    from liquidtime.scoring.model_files import columns_to_read

    own = loaded(model)
    columns = columns_to_read(own.record, id=id, time=time, channel=channel, value=value, time_unit=time_unit)
    reading = ReadingOptions(static_table=static_table)
    native = nw.from_native(frame, eager_only=True, pass_through=True)
    if isinstance(native, nw.DataFrame) and native.shape[0] == 0:
        table = empty_predictions(own, columns, native.to_polars(), each_sample=each_sample, **options)
    else:
        opened = open_table("frame", frame)
        native = opened.frame
        read = Table(opened.frame.to_polars(), opened.formats, opened.notes, opened.added)
        table = predicted(own, columns, reading, read, strict, each_sample=each_sample, **options)
    kind = native.implementation
    return table.to_pandas() if kind.is_pandas_like() else table.to_arrow() if kind.is_pyarrow() else table


def predicted(
    model: LoadedModel, columns: Columns, reading: ReadingOptions, table: Table, strict: bool, **options: Any
) -> polars.DataFrame:
    """Return the table of predictions for a table of measurements.

    Args:
        model: the model.
        columns: what the columns of the table mean.
        reading: what was said about reading.
        table: as it was read.
        strict: refuse what would be repaired.
        **options: of `Task.table`.
    """
    import polars

    from liquidtime.scoring.prediction_files import prediction_slices
    from liquidtime.tasks import task_of

    encoder = model.estimator.encoder_
    series = columns.read_new(table, reading, encoder.channels_, encoder.static_names_, encoder.time_unit_, strict)
    task = task_of(model.estimator)
    return polars.concat(list(prediction_slices(task, model.estimator, series, columns.id, **options)))


def empty_predictions(
    model: LoadedModel, columns: Columns, frame: polars.DataFrame, **options: Any
) -> polars.DataFrame:
    """Return a table of predictions without rows: that of one made-up series, cut off.

    Args:
        model: the model.
        columns: what the columns of the table mean.
        frame: a table without rows, whose types are those of the ids and times.
        **options: of `Task.table`.
    """
    import polars

    from liquidtime.data.reading import Table

    encoder = model.estimator.encoder_
    missing = [name for name in (columns.id, columns.time) if name not in frame.columns]
    if missing:
        raise ValueError(f"the table must have the column {missing[0]!r}; it has {', '.join(frame.columns[:8])}")
    row: dict[str, Any] = {columns.id: "0", columns.time: 0}
    if columns.channel is not None and columns.value is not None:
        row |= {columns.channel: encoder.channels_[0], columns.value: 0.0}
    else:
        row |= {name: 0.0 for name in encoder.channels_ if name not in columns.categorical}
    made = polars.DataFrame({name: [entry] for name, entry in row.items()})
    types = {name: frame.schema[name] for name in (columns.id, columns.time)}
    kept = {name: kind for name, kind in types.items() if kind not in (polars.Null, polars.String)}
    made = made.with_columns(polars.col(columns.id).cast(kept.get(columns.id, polars.String), strict=False))
    made = made.with_columns(polars.col(columns.time).cast(kept.get(columns.time, polars.Float64)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a series that nobody has measured
        return predicted(model, columns, ReadingOptions(), Table(made), False, **options).clear()
