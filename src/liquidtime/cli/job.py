"""The main job as the command line does it: reads the files, calls the library, prints."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.cli.columns import Columns, labels_of
from liquidtime.cli.printing import Printer

if TYPE_CHECKING:
    from liquidtime.data import SeriesSet


@dataclass(frozen=True)
class Job:
    """What `train` was asked to do.

    Args:
        data: the table of measurements.
        columns: what its columns mean.
        out: the model folder to write.
        task: name of the task.
        target: column of the labels; None for forecasts.
        labels: the table of labels; None where they are columns of `data`.
        labels_id: column of ids in `labels`; None for the one in `data`.
        auxiliary: further columns of labels that are auxiliary targets.
        seed: random seed.
        test_share: share of the series that are tested on.
        resume: continue a run that was stopped.
        force: discard a run that was stopped and start over.
        quick: networks alone.
        strict: refuse data that needs a repair.
        keep_neighbours: keep ids and outcomes of training series with the model.
        settings: arguments of the estimator.
        title: of the report.
        command: what was typed.
        attribution: whose data it is.
    """

    data: Path
    columns: Columns
    out: Path
    task: str
    target: str | None = None
    labels: Path | None = None
    labels_id: str | None = None
    auxiliary: tuple[str, ...] = ()
    seed: int = 0
    test_share: float = 0.2
    resume: bool = False
    force: bool = False
    quick: bool = False
    strict: bool = False
    keep_neighbours: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    command: str = ""
    attribution: str = ""

    def __post_init__(self) -> None:
        from liquidtime.tasks import TASKS, find_task

        task = find_task(self.task, "--task")
        if not task.has_target and (self.target is not None or self.labels is not None):
            raise ValueError(
                f"--task {task.name} predicts {task.unnamed_target} of the series; leave out --target and --labels"
            )
        if self.auxiliary and not task.takes_auxiliary:
            names = " and ".join(other.name for other in TASKS.values() if other.takes_auxiliary)
            raise ValueError(f"--auxiliary is for --task {names}; got {task.name!r}")
        if self.target in self.auxiliary:
            raise ValueError(f"--auxiliary must be other columns than --target; got {self.target!r} for both")
        if task.has_target and self.target is None:
            raise ValueError(f"--task {task.name} needs --target: the column that is to be predicted")
        if "class_weight" in task.unknown_settings(self.settings):
            names = " and ".join(other.name for other in TASKS.values() if not other.unknown_settings(self.settings))
            raise ValueError(f"--balanced is for --task {names}; got {task.name!r}")


def run(job: Job, printer: Printer) -> dict[str, Any]:
    """Read, train, test and save; return the result, ready for JSON.

    Args:
        job: what to do.
        printer: where to say what is going on.
    """
    import sys

    import liquidtime as lt
    from liquidtime.evaluation.job_record import REPORT
    from liquidtime.evaluation.model_place import check_place

    started = time.monotonic()
    check_place(job.out, resume=job.resume, restart=job.force)
    data, target, auxiliary = _read(job)
    about = data.describe()
    printer.data(about, f"{job.data.name}, as understood:")
    if job.task == "classify" and target is not None and getattr(target, "ndim", 0) == 1:
        printer.classes(target.tolist())
    result = lt.train_and_test(
        data,
        target,
        task=job.task,
        auxiliary=auxiliary,
        quick=job.quick,
        test_share=job.test_share,
        seed=job.seed,
        folder=job.out,
        resume=job.resume,
        restart=job.force,
        target_name=job.target or "",
        auxiliary_names=job.auxiliary,
        columns=job.columns.to_dict(),
        labels_id=job.labels_id or job.columns.id,
        title=job.title,
        command=job.command,
        attribution=job.attribution,
        log=printer.line,
        keep_neighbours=job.keep_neighbours,
        verbose=sys.stderr.isatty(),
        **job.settings,
    )
    report = job.out / REPORT
    printer.scores(result.figures, result.caption)
    if result.contents is not None and result.contents.verdict:
        printer.line(result.contents.verdict)
    printer.line(f"model   {job.out}")
    if report.is_file():
        printer.line(f"report  {report}")
    return {
        "model": str(job.out),
        "report": str(report) if report.is_file() else None,
        "task": job.task,
        "series": dict(result.record.parts),
        "notes": [str(note) for note in about.notes],
        "test": result.record.test,
        "seconds": round(time.monotonic() - started, 1),
    }


def _read(job: Job) -> tuple[SeriesSet, Any, Any]:
    """Return the series, their targets and their auxiliary targets; None for those that there are none of."""
    import narwhals as nw

    from liquidtime.data import align_labels, align_outcomes, read_frame
    from liquidtime.data.reading.columns import check_column

    frame = read_frame(job.data)
    if job.target is None:
        return job.columns.read(frame, strict=job.strict), None, None
    if job.labels is None:
        table, id = labels_of(frame, job.columns, job.target, job.auxiliary), job.columns.id
    else:
        table, id = read_frame(job.labels), job.labels_id or job.columns.id
    for option, name in (("--target", job.target), *(("--auxiliary", name) for name in job.auxiliary)):
        check_column(nw.from_native(table), option, name)  # before the larger table is taken apart
    data = job.columns.read(frame, leave=(job.target, *job.auxiliary), strict=job.strict)
    data, target = align_labels(data, table, id=id, target=job.target, strict=job.strict)
    if not job.auxiliary:
        return data, target, None
    return data, target, align_outcomes(data, table, id=id, columns=job.auxiliary, missing=job.columns.missing)
