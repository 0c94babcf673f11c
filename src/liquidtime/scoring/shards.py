"""Predictions shard by shard: one file for each, in several processes or on a cluster, resumed where they stopped."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.scoring.reading_options import ReadingOptions

if TYPE_CHECKING:
    from liquidtime.scoring.columns import Columns
    from liquidtime.scoring.shard_plan import Shard

SEAL = "liquidtime.predictions"
"""Key in a file of predictions for the seal of its shard."""


@dataclass(frozen=True)
class ShardedPredictions:
    """The result of predicting shards.

    Args:
        out: the folder.
        files: files of predictions, one for each shard.
        skipped: number of files that already existed.
        series: number of series predicted in this call.
        rows: number of rows written in this call.
        notes: notes about reading, by shard.
    """

    out: Path
    files: tuple[Path, ...]
    skipped: int
    series: int
    rows: int
    notes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Request:
    """The predictions to make for every shard.

    Args:
        model: the model folder.
        columns: meaning of the columns of the shards.
        reading: reading options.
        out: folder of the predictions.
        each_sample: whether to write one row per sample instead of one per series.
        strict: whether to refuse data that would be repaired.
        options: options of the model's task.
        device: device for predictions; None for that of the model.
    """

    model: Path
    columns: Columns
    reading: ReadingOptions
    out: Path
    each_sample: bool = False
    strict: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None


def predict_shards(
    model: str | Path,
    shards: Any,
    out: str | Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    id: str | None = None,
    time: str | None = None,
    channel: str | None = None,
    value: str | None = None,
    time_unit: str | None = None,
    each_sample: bool = False,
    strict: bool = False,
    replace: bool = False,
    reading: ReadingOptions | None = None,
    device: str | None = None,
    show: bool = False,
    **options: Any,
) -> ShardedPredictions:
    """Write one file of predictions for each shard of a table, as `<shard>.parquet` in a folder.

        lt.predict_shards("model/", "measurements/", "predictions/", workers=8)

    A file is written under a temporary name and renamed, so that existing files are always complete. Calling this again
    with the same arguments resumes: files from the same shard, model and options are left unchanged. A worker that dies
    is replaced, and its unfinished work is repeated. Every process computes with one thread, so that the results are
    the same for any number of workers.

    Args:
        model: the model folder.
        shards: a folder of files, a pattern, one file or several; or a stored set, which is divided into shards of
            20,000 series. Each series must be in a single shard.
        out: folder for the predictions; created if needed.
        workers: number of processes; None for one, or on a cluster for one per CPU.
        cluster: Ray cluster for the predictions, "ray://host:port", or "auto" on one of its machines; None for this
            machine. Model, shards and `out` must be in folders that all machines see.
        id: column of ids, if not that of training.
        time: column of times, if not that of training.
        channel: column of channel names, if not that of training.
        value: column of values, if not that of training.
        time_unit: unit of the times, if not that of training.
        each_sample: whether to write one row per sample, using the samples up to it, instead of one row per series.
        strict: whether to refuse data that would be repaired.
        replace: whether files of the same names that are not these predictions may be replaced.
        reading: reading options.
        device: device for predictions, see `device` of the estimators; None for that of the model.
        show: whether to show progress on standard error.
        **options: options of the model's task: `horizons`, `intervals`, `threshold`.

    Raises:
        FileNotFoundError: there is no such model folder or shard.
        FileExistsError: a file in `out` would be overwritten.
        FolderInUse: another process is writing to `out`.
        ConnectionError: the cluster cannot be reached.
        ValueError: a shard lacks a column, a series is in two shards, or two shards have the same name.
        WorkerDied: workers died three times over the same shards.

    """
    from liquidtime.distributed import mapper_of
    from liquidtime.files.locks import lock_file
    from liquidtime.scoring.frames import loaded
    from liquidtime.scoring.model_files import columns_to_read
    from liquidtime.scoring.shard_plan import check_shards, planned

    own, place = loaded(model, device), Path(out).absolute()
    columns = columns_to_read(own.record, id=id, time=time, channel=channel, value=value, time_unit=time_unit)
    request = Request(
        Path(model).absolute(), columns, reading or ReadingOptions(), place, each_sample, strict, dict(options), device
    )
    plan = planned(shards, request, own.seal)
    _check_place(place, plan)
    with mapper_of(cluster, [request.model, place.parent, *(shard.source for shard in plan[:1])]) as mapped:
        check_shards(plan, request, own.estimator)
        place.mkdir(exist_ok=True)
        lock = place / ".liquidtime.lock"
        with lock_file(lock, f"process {{pid}} is writing predictions to {place}; wait for it"):
            try:
                left = [shard for shard in plan if not shard.is_done()]
                _refuse_foreign(place, plan, left, replace)
                names = [shard.name for shard in left]
                done = mapped(functools.partial(predict_shard, request), left, workers, names=names, show=show)
            finally:
                lock.unlink(missing_ok=True)
    return ShardedPredictions(
        place,
        tuple(shard.out for shard in plan),
        len(plan) - len(left),
        sum(series for series, _, _ in done),
        sum(rows for _, rows, _ in done),
        {shard.name: notes for shard, (_, _, notes) in zip(left, done, strict=True) if notes},
    )


def _check_place(out: Path, plan: Sequence[Shard]) -> None:
    """Refuse, before any work, a folder that cannot or must not be written to."""
    from liquidtime.files.places import refuse_sealed, refuse_unwritable

    if not out.parent.is_dir():
        raise FileNotFoundError(f"`out` {out} must be in a folder that exists; there is no {out.parent}")
    if out.exists() and not out.is_dir():
        raise FileExistsError(f"`out` {out} is a file; for shards it must be a folder")
    refuse_sealed(out, "`out`", files=True)
    sources = {_file_number(shard.source) for shard in plan}
    for shard in plan:
        if shard.out.exists() and _file_number(shard.out) in sources:
            raise ValueError(f"`out` {out} is the folder with the shards; choose another folder")
    refuse_unwritable(out / "part" if out.is_dir() else out)


def _file_number(file: Path) -> tuple[int, int]:
    facts = file.stat()
    return facts.st_dev, facts.st_ino


def _refuse_foreign(out: Path, plan: Sequence[Shard], left: Sequence[Shard], replace: bool) -> None:
    """Refuse to replace other files, and to add predictions to those of shards that are no longer named."""
    from liquidtime.scoring.shard_plan import seal_of

    if replace:
        return
    for shard in left:
        if shard.out.exists() or shard.out.is_symlink():
            what = "has predictions of another model, other options or an older shard"
            if seal_of(shard.out) is None:
                what = "was not written by `liquidtime predict`"
            raise FileExistsError(f"{shard.out} {what}; replace it with replace=True, or choose another `out`")
    own = {shard.out for shard in plan}
    for file in sorted(out.glob("*.parquet")):
        if file not in own and seal_of(file) is not None:
            raise FileExistsError(
                f"{file} has predictions of a shard that is not among those named; name all shards of `out`, or "
                "choose another folder"
            )


def predict_shard(request: Request, shard: Shard, again: bool = False) -> tuple[int, int, tuple[str, ...]]:
    """Predict one shard; return the number of its series, the rows written, and notes about reading.

    Args:
        request: the predictions to make.
        shard: the shard.
        again: whether a worker died over it; it may be finished already.
    """
    from liquidtime.files.temporaries import parts_of, temporaries_of
    from liquidtime.scoring.frames import empty_predictions, loaded
    from liquidtime.scoring.prediction_files import prediction_slices, write_tables
    from liquidtime.tasks import task_of

    for item in (*temporaries_of(shard.out), *temporaries_of(parts_of(shard.out))):
        shutil.rmtree(item, ignore_errors=True) if item.is_dir() else item.unlink(missing_ok=True)
    model, columns = loaded(request.model, request.device), request.columns
    options = {"each_sample": request.each_sample, **request.options}
    try:
        series, frame = shard.read(request, model.estimator)
        if series is None:
            tables = iter([empty_predictions(model, columns, frame, **options)])
        else:
            tables = prediction_slices(task_of(model.estimator), model.estimator, series, columns.id, **options)
        rows, _ = write_tables(tables, shard.out, replace=True, metadata={SEAL: shard.seal})
    except (ValueError, TypeError) as error:
        text = str(error)
        raise type(error)(text if shard.name in text else f"shard {shard.name!r}: {text}") from error
    notes = () if series is None else tuple(str(note) for note in series.notes)
    return (0 if series is None else len(series)), rows, notes
