"""Predictions from frame to frame, with a model that is loaded once per process."""

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
    """A model folder loaded by this process.

    Args:
        estimator: the model.
        record: the job for which it was trained; None if it was saved without one.
        seal: sha256 of the manifest of the folder, which contains the sha256 of every file.
    """

    estimator: Any
    record: JobRecord | None
    seal: str


_LOCK = threading.Lock()
_LOADED: dict[tuple[Path, str | None], LoadedModel] = {}
"""The model that was used last, by its folder and device: a worker uses one model again and again."""


def loaded(folder: str | Path, device: str | None = None) -> LoadedModel:
    """Return the model of a folder, which is read once, and again if the folder was rewritten.

    Args:
        folder: the model folder.
        device: device for predictions; None for that of the model.

    Raises:
        FileNotFoundError: there is no such folder.
        DamagedFolder: a file was changed.

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
        return ""  # `load` reports what is wrong with it


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

    The model is loaded once per process, and again if its folder was rewritten. The frame must contain whole series:
    samples of a series in another frame are not used. For a frame without rows, the result has no rows, but the columns
    and types of predictions.

    Args:
        frame: measurements as in training: a frame of pandas, polars or pyarrow.
        model: the model folder.
        id: column of ids, if not that of training.
        time: column of times, if not that of training.
        channel: column of channel names, if not that of training.
        value: column of values, if not that of training.
        time_unit: unit of the times, if not that of training.
        each_sample: whether to return one row per sample, using the samples up to it, instead of one row per series.
        strict: whether to refuse data that would be repaired.
        static_table: file with one row per series, if the model was trained with one.
        **options: options of the model's task: `horizons`, `intervals`, `threshold`.

    Returns:
        The table that `liquidtime predict` writes: ids, `time` of the last sample, `prediction`, and more by task.

    Raises:
        FileNotFoundError: there is no such model folder.
        TypeError: `frame` is not a frame.
        ValueError: a column is missing, or a value is impossible.

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
        columns: meaning of the columns of the table.
        reading: reading options.
        table: the table.
        strict: whether to refuse data that would be repaired.
        **options: options of `Task.table`.
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
    """Return a table of predictions without rows: that of one made-up series, without its row.

    Args:
        model: the model.
        columns: meaning of the columns of the table.
        frame: a table without rows, with the types of the ids and times.
        **options: options of `Task.table`.
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
        warnings.simplefilter("ignore")  # about a made-up series
        return predicted(model, columns, ReadingOptions(), Table(made), False, **options).clear()
