"""The work of `train`, `search` and `demo`: read the files, call the library, print."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liquidtime.cli.columns import Columns, labels_of, with_numbers
from liquidtime.cli.printing import Printer
from liquidtime.cli.reading_options import ReadingOptions

if TYPE_CHECKING:
    import polars

    from liquidtime.data import SeriesSet
    from liquidtime.data.reading import Table
    from liquidtime.tuning.result import SearchResult


_OPTIONS = {
    "class_weight": "--balanced",
    "threshold": "--threshold",
    "intervals": "--intervals",
    "horizon": "--horizon",
    "targets": "--targets",
    "known": "--known",
}
"""Options of the settings that not every task has."""


@dataclass(frozen=True)
class Job:
    """The arguments of a training job.

    Args:
        data: files or database with the table of measurements.
        columns: the meaning of its columns.
        out: model folder to write.
        task: name of the task.
        target: column with the labels; None for forecasts.
        labels: table of labels; None if they are columns of `data`.
        labels_id: id column of `labels`; None for the one in `data`.
        auxiliary: columns with auxiliary targets.
        seed: random seed.
        test_share: share of the series to test on.
        group: column with groups of series that belong together; None for no groups.
        each_sample: whether the target has a class for every sample.
        order: column with the date or order of each series; None for no order.
        weight: column with the weight of each series in training; None for equal weights.
        test: table with other series to test on; None for a part of `data`.
        test_after: test on the series that end at this time or later; None for no such time.
        folds: number of folds of a cross-validation; None for one test part.
        refit: train the saved model on all series after the test.
        resume: resume an interrupted run.
        force: discard an interrupted run and start over.
        quick: train networks alone.
        strict: refuse data that would have to be repaired.
        reading: options for reading tables.
        keep_neighbours: store ids and outcomes of the training series in the model.
        track: trackers to which the run is logged.
        settings: arguments of the estimator.
        search: arguments of `lt.search`; None if settings are not searched.
        search_report: page to write about the search.
        title: title of the report.
        command: command line, for the report.
        attribution: source of the data, for the report.
    """

    data: Sequence[str | Path]
    columns: Columns
    out: Path
    task: str
    target: str | None = None
    labels: Path | None = None
    labels_id: str | None = None
    auxiliary: tuple[str, ...] = ()
    seed: int = 0
    test_share: float = 0.2
    group: str | None = None
    each_sample: bool = False
    order: str | None = None
    weight: str | None = None
    test: Path | None = None
    test_after: str | None = None
    folds: int | None = None
    refit: bool = True
    resume: bool = False
    force: bool = False
    quick: bool = False
    strict: bool = False
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    keep_neighbours: bool = False
    track: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    search: dict[str, Any] | None = None
    search_report: Path | None = None
    title: str = ""
    command: str = ""
    attribution: str = ""

    def __post_init__(self) -> None:
        from liquidtime.tasks import TASKS, find_task

        task = find_task(self.task, "--task")
        facts = (self.group, self.weight, self.order)
        if not task.has_target and (self.target is not None or (self.labels is not None and not any(facts))):
            raise ValueError(
                f"--task {task.name} predicts {task.unnamed_target} of the series; leave out --target, and also "
                "--labels "
                "unless that table has the column of --group, --order or --weight"
            )
        if self.auxiliary and not task.takes_auxiliary:
            names = " and ".join(other.name for other in TASKS.values() if other.takes_auxiliary)
            raise ValueError(f"--auxiliary is for --task {names}; got {task.name!r}")
        if self.target in self.auxiliary:
            raise ValueError(f"--auxiliary and --target must be different columns; got {self.target!r} for both")
        if task.has_target and self.target is None:
            raise ValueError(f"--task {task.name} needs --target, the column to predict")
        for setting, option in _OPTIONS.items():
            if setting in self.settings and setting in task.unknown_settings(self.settings):
                one = {setting: self.settings[setting]}
                names = " and ".join(other.name for other in TASKS.values() if not other.unknown_settings(one))
                raise ValueError(f"{option} is for --task {names}; got {task.name!r}")
        model = task.make(self.settings, self.quick)
        getattr(model, "_check_settings", lambda: None)()  # before anything is read


def run(job: Job, printer: Printer) -> dict[str, Any]:
    """Read, train, test and save; return the result, ready for JSON.

    Args:
        job: arguments of the job.
        printer: prints progress and results.
    """
    import sys

    import liquidtime as lt
    from liquidtime.cli.options import listed
    from liquidtime.evaluation.job_record import REPORT
    from liquidtime.evaluation.model_place import check_place
    from liquidtime.integrations.trackers import find_trackers
    from liquidtime.tasks import find_task
    from liquidtime.training.agreement import told
    from liquidtime.training.ranks import current

    started = time.monotonic()
    find_trackers(job.track, "--track")
    ranks = current()
    with told(ranks):
        if ranks.rank == 0:  # the folder is its own: it may be at work there before another rank has come this far
            check_place(job.out, resume=job.resume, restart=job.force)
    tables = _tables(job, job.data)
    job = _with_samples(job, tables, printer)
    read = _read(job, tables)
    about = read.data.describe()
    printer.data(about, f"{_named(job.data)} contains:")
    if job.task == "classify" and getattr(read.target, "ndim", 0) == 1:
        printer.classes(read.target.tolist())
    test = None
    if job.test is not None:
        other = _read(job, _tables(job, [job.test], read.data.reading))
        printer.data(other.data.describe(), f"{_named([job.test])}, with the series to test on, contains:")
        test = other.data if other.target is None else (other.data, other.target)
    several: dict[str, Any] = (
        {"labels": listed([job.target])} if job.target and find_task(job.task).several_targets else {}
    )
    asked: dict[str, Any] = {
        "task": job.task,
        "auxiliary": read.auxiliary,
        "test_share": job.test_share,
        "groups": read.groups,
        "order": read.order,
        "sample_weight": read.weights,
        "test": test,
        "test_after": job.test_after,
        "refit": job.refit,
        "seed": job.seed,
        "folder": job.out,
        "resume": job.resume,
        "restart": job.force,
        "log": printer.line,
        "verbose": sys.stderr.isatty(),
    }
    about_it: dict[str, Any] = {
        "target_name": job.target or "",
        "auxiliary_names": job.auxiliary,
        "columns": job.columns.remembered(job.reading, read.data).to_dict(),
        "labels_id": job.labels_id or job.columns.id,
        "title": job.title,
        "command": job.command,
        "attribution": job.attribution,
        "keep_neighbours": job.keep_neighbours,
        "track": job.track,
    }
    searched = None
    if job.search is not None:
        searched = lt.search(read.data, read.target, **asked, **job.search, about=about_it, **job.settings, **several)
        result = searched.result
    else:
        run_of: dict[str, Any] = {"quick": job.quick, "folds": job.folds}
        result = lt.train_and_test(read.data, read.target, **asked, **run_of, **about_it, **job.settings, **several)
    report = job.out / REPORT
    if result.figures:
        printer.scores(result.figures, result.caption)
    if result.contents is not None and result.contents.verdict:
        printer.line(result.contents.verdict)
    printer.line(f"model   {job.out}, {result.record.split['saved model']}")
    if report.is_file():
        printer.line(f"report  {report}")
    return {
        "model": str(job.out),
        "report": str(report) if report.is_file() else None,
        "task": job.task,
        "series": dict(result.record.parts),
        "notes": [str(note) for note in about.notes],
        "test": result.record.test,
        "details": result.comparison.details(),
        "seconds": round(time.monotonic() - started, 1),
        **({} if searched is None else {"search": _search_facts(job, searched, printer)}),
    }


def _search_facts(job: Job, search: SearchResult, printer: Printer) -> dict[str, Any]:
    """Write the page about a search, and return its facts for the JSON result."""
    assert job.search_report is not None
    try:
        page: str | None = str(search.report(job.search_report))
        printer.line(f"search  {page}")
    except ImportError as error:
        page = None
        printer.line(f"no page about the search: {error}")
    return {
        "best": dict(search.best),
        "loss": search.loss,
        "trials": len(search.trials),
        "importance": dict(search.importance),
        "page": page,
    }


def _named(data: Sequence[str | Path]) -> str:
    """Return a short name of a table of measurements."""
    from liquidtime.data.reading.sql import without_password

    first = without_password(str(data[0]))
    name = first if "://" in first else Path(first).name
    return name if len(data) == 1 else f"{name} and {len(data) - 1} more"


@dataclass(frozen=True)
class _Tables:
    """The tables of a job, as they were read.

    Args:
        measurements: one row per measurement or sample.
        labels: the table of labels, or None.
        labels_id: its id column.
        static: the table of static features, or None.
        columns: the meaning of the columns of the measurements.
        missing: numbers and words that mean "not observed".
    """

    measurements: Table
    labels: polars.DataFrame | None
    labels_id: str
    static: Table | None
    columns: Columns
    missing: Sequence[float | str]


def _tables(job: Job, source: Sequence[str | Path], usual: Mapping[str, str] | None = None) -> _Tables:
    """Read the tables of measurements, labels and static features.

    Args:
        job: arguments of the job.
        source: files or database with the table of measurements.
        usual: formats found in the table of the training series, for a table of test series.
    """
    from liquidtime.data.reading import read_table
    from liquidtime.scoring.stored_tables import measurements

    reading, columns = job.reading.reading(usual), dataclasses.replace(job.columns, reading=dict(usual or {}))
    table = measurements(source, reading, columns)
    labels = None if job.labels is None else read_table(job.labels, reading.hints()).frame
    labels_id = job.labels_id or columns.id
    static = None if job.reading.static_table is None else read_table(job.reading.static_table, reading.hints())
    elsewhere = labels is None and job.target is not None and job.target not in table.frame.columns
    if elsewhere and static is not None and job.target in static.frame.columns:
        labels, labels_id = static.frame, job.reading.static_id or columns.id
    return _Tables(table, labels, labels_id, static, columns, reading.missing)


def _with_samples(job: Job, tables: _Tables, printer: Printer) -> Job:
    """Return the job, changed to classify samples if every sample has a class; print a line if that was detected."""
    from liquidtime.cli.sample_targets import varies
    from liquidtime.tasks import TASKS, find_task

    task = find_task(job.task, "--task")
    per_sample = next(other for other in TASKS.values() if other.per_sample)
    if task.per_sample or job.target is None:
        return dataclasses.replace(job, each_sample=task.per_sample)
    if job.each_sample:
        if task.name != "classify":
            raise ValueError(f"--each-sample is for --task classify; got {task.name!r}")
        return dataclasses.replace(job, task=per_sample.name)
    if task.name != "classify" or job.target in job.columns.static:
        return job
    table, id = tables.measurements.frame, job.columns.id
    if tables.labels is not None:
        table, id = tables.labels, tables.labels_id
        if job.columns.time not in table.columns:
            return job
    count = varies(table, id, job.target, tables.missing)
    if not count:
        return job
    printer.line(
        f"--target {job.target!r} varies within {count:,} series, so every sample is classified (--each-sample)"
    )
    return dataclasses.replace(job, task=per_sample.name, each_sample=True)


@dataclass(frozen=True)
class _Read:
    """The series of a job, with their targets and facts.

    Args:
        data: S series.
        target: (S, …) target of each series; None for forecasts.
        auxiliary: (S, K) auxiliary targets, or None.
        groups: (S,) group of each series, or None.
        weights: (S,) weight of each series, or None.
        order: (S,) date or order of each series, or None.
    """

    data: SeriesSet
    target: Any = None
    auxiliary: Any = None
    groups: Any = None
    weights: Any = None
    order: Any = None


def _read(job: Job, tables: _Tables) -> _Read:
    """Return the series and their targets and facts, from whichever table has them."""
    import narwhals as nw

    from liquidtime.cli.options import listed
    from liquidtime.cli.sample_targets import sample_target
    from liquidtime.cli.series_facts import check_fact, fact_of_series
    from liquidtime.cli.stored_tables import check_targets, refuse_stored
    from liquidtime.data import align_labels, align_outcomes
    from liquidtime.data.reading.columns import check_column
    from liquidtime.tasks import find_task

    frame, labels, columns, missing = tables.measurements.frame, tables.labels, tables.columns, tables.missing
    asked = (("--group", job.group), ("--weight", job.weight), ("--order", job.order))
    every = [frame, *([] if labels is None else [labels]), *([] if tables.static is None else [tables.static.frame])]
    for option, name in asked:
        if name is not None:
            check_fact(option, name, every)
    how: dict[str, Any] = {"static_table": tables.static, "strict": job.strict}
    named = [name for name in (job.group, job.weight, job.order) if name is not None and name not in columns.static]
    table, id = frame, columns.id
    target: Any = None
    auxiliary = None
    if job.target is None:
        data = columns.read(tables.measurements, job.reading, leave=named, **how)
    elif job.each_sample:
        refuse_stored(tables.measurements)
        samples = sample_target(frame, columns, job.target, labels, tables.labels_id, missing)
        whole = dataclasses.replace(tables.measurements, frame=samples.frame)
        data, target = samples.split(samples.columns.read(whole, job.reading, leave=named, **how))
    elif find_task(job.task).several_targets:
        names = listed([job.target])
        table = labels_of(frame, columns, names[0], names[1:], missing) if labels is None else labels
        id = columns.id if labels is None else tables.labels_id
        data = columns.read(tables.measurements, job.reading, leave=(*names, *named), **how)
        target = align_outcomes(data, table, id=id, columns=names, missing=missing, argument="target")
    else:
        if labels is None:
            check_targets(tables.measurements, (job.target, *job.auxiliary))
            table = labels_of(frame, columns, job.target, job.auxiliary, missing)
        else:
            table, id = labels, tables.labels_id
        for option, name in (("--target", job.target), *(("--auxiliary", name) for name in job.auxiliary)):
            check_column(nw.from_native(table), option, name)  # before the larger table is read into series
        table = with_numbers(table, job.target, job.task, job.reading.decimal, missing)
        leave = (job.target, *job.auxiliary, *named)
        data = columns.read(tables.measurements, job.reading, leave=leave, **how)
        data, target = align_labels(data, table, id=id, target=job.target, strict=job.strict, missing=missing)
        if job.auxiliary:
            auxiliary = align_outcomes(data, table, id=id, columns=job.auxiliary, missing=missing)
    sources = [(frame, columns.id)] if labels is None else [(labels, id), (frame, columns.id)]
    if tables.static is not None:
        sources.append((tables.static.frame, job.reading.static_id or columns.id))
    facts = {option: None if name is None else fact_of_series(option, name, data, sources) for option, name in asked}
    return _Read(data, target, auxiliary, facts["--group"], facts["--weight"], facts["--order"])
