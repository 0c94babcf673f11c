"""The main job: from series and targets to a trained, tested and reported model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars

from liquidtime.data import SeriesSet
from liquidtime.distributed import in_processes
from liquidtime.estimators.files.model_config import stored_params
from liquidtime.evaluation.job_inputs import gathered
from liquidtime.evaluation.job_record import JobRecord
from liquidtime.evaluation.model_place import check_place
from liquidtime.evaluation.report_data import report_data
from liquidtime.evaluation.result import Result
from liquidtime.evaluation.split import SplitRequest
from liquidtime.evaluation.training_job import TrainingJob
from liquidtime.integrations.trackers import find_trackers
from liquidtime.tasks import Comparison, Task
from liquidtime.tasks.prediction_table import prediction_table
from liquidtime.training import tracking
from liquidtime.training.agreement import agreed, told
from liquidtime.training.ranks import current
from liquidtime.training.run_folder import RunFolder, marked_folder
from liquidtime.training.stages import stage

Log = Callable[[str], None]


def train_and_test(
    data: SeriesSet,
    target: Any = None,
    *,
    task: str | Task | None = None,
    auxiliary: Any = None,
    estimator: Any = None,
    quick: bool = False,
    test_share: float = 0.2,
    groups: Any = None,
    order: Any = None,
    test: tuple[SeriesSet, Any] | SeriesSet | None = None,
    test_after: Any = None,
    folds: int | None = None,
    refit: bool = True,
    sample_weight: Any = None,
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    restart: bool = False,
    target_name: str = "",
    auxiliary_names: Sequence[str] = (),
    columns: Mapping[str, Any] | None = None,
    labels_id: str | None = None,
    title: str = "",
    command: str = "",
    attribution: str = "",
    log: Log | None = None,
    keep_neighbours: bool = False,
    track: Any = None,
    **settings: Any,
) -> Result:
    """Train a model on one part of the series and test it on the rest, together with the baselines of its task.

        result = lt.train_and_test(data, died, epochs=6)
        result                                shows the figures as a table
        result.report("report.html")
        result.save("model")

    Args:
        data: S series.
        target: (S,) or (S, K) targets; to classify samples, (N,) or a list of S arrays with one entry per sample; None
            to forecast the series themselves.
        task: name of the task, such as "classify", "regress" or "forecast"; None infers it: forecasts without a target;
            classification for texts, truth values and a few different whole numbers; regression for other numbers. The
            result states the task.
        auxiliary: (S,), (S, K) or a data frame of auxiliary targets, NaN if not known, used in training only.
        estimator: an estimator of the task, which is copied; None for the default: without `settings` the stacked
            estimator of the task, if there is one (such as `StackedClassifier`), and with settings networks alone.
        quick: train networks alone, and only one unless `settings` ask for more: seconds instead of minutes.
        test_share: share of the series to test on, from 0 to less than 1. Forecasts of fewer than four series are
            tested on the last samples of each, this share of them. With 0, there is no test. Forecasts of series on one
            clock are tested on what comes after a certain time instead, and series that move together are kept
            together.
        groups: (S,) group of each series, such as its patient or engine. A group is never split between training and
            test, or in choices inside the training part, and intervals resample groups.
        order: (S,) date or order of each series: numbers, time stamps or texts that sort by time. The test uses the
            latest series, and choices inside the training part respect the order too. Pass it for series that share
            their time, as stations share their weather, if the times in the data do not show this.
        test: other series to test on, with their targets if the task has targets.
        test_after: a time stamp, or a number if times are numbers. Series that end then or later are tested on, those
            that end before are trained on, and choices inside the training part respect time too. Forecasts are
            trained on all samples before it and tested on those after.
        folds: number of parts into which the series are split; each is tested with a model trained on the others.
            Figures are for all series together.
        refit: whether to train the model again on all series after the test, with the same choices, so that the
            returned and saved model has learned from all of them. Figures are for the model before that.
        sample_weight: (S,) weight of each series in training; figures give every series the same weight.
        seed: random seed of the split, the training, the baselines and the bootstrap; the `random_state` of an
            estimator takes precedence in its training.
        folder: model folder to write, with the model, the report and the job. While training, checkpoints are kept in
            `<folder>.run`. An existing model is kept as `<folder>.previous`. None writes nothing.
        resume: resume an interrupted run with the same `folder`, data and settings.
        restart: discard an interrupted run and start over.
        target_name: name of the target, for the report and the model folder.
        auxiliary_names: names of the auxiliary targets, for the same.
        columns: the arguments of `from_long` or `from_wide` with which `data` was read, such as {"id": "patient",
            "time": "minutes", "channel": "name", "value": "value"}, so that `liquidtime predict` can read other tables.
        labels_id: id column of the table of labels, for the same.
        title: title of the report.
        command: command that made the result, for the report.
        attribution: source of the data, for the report.
        log: function that is called with one line of text per stage.
        keep_neighbours: store the ids and outcomes of the training series in the model, so that `lt.explain` can name
            those most similar to a new one.
        track: trackers for settings, epochs, test figures and the model folder: "tensorboard", "mlflow" or "wandb",
            also with a destination, as in "tensorboard=logs"; a `liquidtime.training.Tracker`; or a list of several.
        **settings: arguments of the estimator, such as `epochs` or `n_estimators`.

    Raises:
        TypeError: `data` is not a `SeriesSet`, or the estimator does not have a setting.
        ValueError: targets do not match the series or the task, there are too few series to split, or the estimator
            refuses a setting.
        FileExistsError: `folder` holds other files, or an interrupted run that is neither resumed nor discarded.
        FolderInUse: another run is using the folder.

    """
    say, ranks = log or (lambda line: None), current()
    trackers = find_trackers(track) if ranks.rank == 0 else []
    if folder is not None and ranks.rank == 0:
        check_place(folder, resume=resume, restart=restart)
    if getattr(task, "name", task) == "multi-label" and estimator is None and hasattr(target, "columns"):
        settings.setdefault("labels", [str(column) for column in target.columns])
    data, inputs, held, groups, order = gathered(data, target, auxiliary, sample_weight, groups, order, test)
    request = SplitRequest(test_share, groups, held, test_after, folds, order)
    job = TrainingJob.planned(data, inputs, task, estimator, request, refit, seed, settings, quick)
    if job.reason:
        say(f"task {job.task.name}, because {job.reason}")
    sizes = {name: len(rows) for name, rows in job.parts.items()}
    say(_plan(job))
    name = target_name or job.task.unnamed_target
    heading = title or (job.task.title if folder is None else Path(folder).absolute().name)
    texts = {"title": heading, "target_name": name, "command": command, "attribution": attribution}
    record = JobRecord(
        task=job.task.name,
        columns=None if columns is None else dict(columns),
        target=target_name or None,
        labels_id=labels_id,
        parts=sizes,
        test={},
        auxiliary=tuple(auxiliary_names),
        split={"test": job.split.words, "saved model": _saved(job)},
    )
    with tracking(*trackers, name=heading, settings=_told(job, record)) as tracked:
        result = _run_and_save(job, record, texts, say, folder, resume, restart, keep_neighbours)
        tracked.figures = {
            f"{model}/{metric}": figure.value for model, row in result.figures.items() for metric, figure in row.items()
        }
        tracked.folder = None if folder is None else Path(folder)
    return result


def _run_and_save(
    job: TrainingJob,
    record: JobRecord,
    texts: Mapping[str, str],
    say: Log,
    folder: str | Path | None,
    resume: bool,
    restart: bool,
    keep: bool,
) -> Result:
    """Train and test; with a model folder, do so in the folder of a run, and then write the model folder."""
    if folder is None:
        return _run(job, record, texts, say, None, False, keep)
    run, ranks = RunFolder(Path(folder)), current()
    if resume and not run.path.exists():
        say(f"there is no {run.path.name} to resume; starting over")
    with ExitStack() as stack:
        fingerprint = job.fingerprint()
        with told(ranks):
            if ranks.rank == 0:
                stack.enter_context(run.held(fingerprint, resume=resume, discard=restart))
        agreed(ranks, fingerprint, {})
        try:
            result = _run(job, record, texts, say, run.path, resume, keep)
        except Exception:
            if ranks.rank == 0 and not run.has_checkpoint():  # nothing to resume
                run.clear()
            raise
        if ranks.rank != 0:
            return result
        try:
            result.save(folder, report=True)
        except ImportError as error:
            say(f"no report: {error}")
            result.save(folder, report=False)
        strange = run.clear()
        if strange:
            say(
                f"{run.path} was not removed: it has {strange[0].name!r}, which no run wrote ({len(strange)} such "
                "files)"
            )
    return result


def _told(job: TrainingJob, record: JobRecord) -> dict[str, Any]:
    """Return the settings of a job for trackers, before it starts."""
    series = {f"series, {part}": count for part, count in record.parts.items()}
    params = stored_params(job.model.get_params(deep=False))
    asked = {"task": job.task.name, "target": record.target, "seed": job.seed, "model": type(job.model).__name__}
    return {**asked, **series, **{f"split, {what}": words for what, words in record.split.items()}, **params}


def _plan(job: TrainingJob) -> str:
    """Return a text that says what is trained on and tested on."""
    sizes = {name: len(rows) for name, rows in job.parts.items()}
    if not job.split.folds:
        return f"training on all {sizes['training']:,} series; there is no test"
    if len(job.split.folds) > 1:
        return f"testing on {sizes['test']:,} series, {job.split.words}"
    return (
        f"training on {sizes['training']:,} series, testing on {sizes['test']:,} that it does not see "
        f"({job.split.words})"
    )


def _saved(job: TrainingJob) -> str:
    """Return a text that says what the returned and saved model was trained on."""
    if not job.split.folds or not job.refit:
        return f"trained on the {len(job.parts['training']):,} series of the training part"
    return f"trained on all {len(job.data):,} series after the test; the test figures are for models trained on fewer"


def _run(
    job: TrainingJob,
    record: JobRecord,
    texts: Mapping[str, str],
    say: Log,
    folder: Path | None,
    resume: bool,
    keep: bool,
) -> Result:
    """Train, test and, if requested, train on all series."""
    places = list(_places(folder, len(job.split.folds)))
    if not job.split.folds:
        model = job.fit(job.unfitted(), None, **_run_of(folder, resume))
        empty = Comparison(np.empty(0), {}, {})
        near = job.neighbours(model, None) if keep else None
        return Result(job.task, job.reason, model, job.parts, empty, polars.DataFrame(), None, record, near)
    folds, pieces = job.split.folds, len(job.split.folds) + job.refit
    if len(folds) > 1:
        say(f"fold 1 of {len(folds)}")
    (train, test), jobs = folds[0], job.model.get_params(deep=False).get("n_jobs")
    with stage(f"test 1 of {len(folds)}", 0, pieces):
        first = job.fit(job.unfitted(), train, **_run_of(places[0], resume))
    say("testing the model and the baselines, all trained on the same series")
    comparison = job.compare(first, train, test)
    tested = [(comparison.plain(), prediction_table("id", job.task.tested(first, comparison)))]
    near = job.neighbours(first, train) if keep else None
    say("looking inside the model")
    contents = report_data(
        first,
        job.split.data,
        job.parts,
        comparison,
        job.split.data[test],
        task=job.task,
        target=job.inputs.target,
        neighbours=near,
        seed=job.seed,
        split=record.split,
        **texts,
    )

    def further(number: int, again: bool) -> tuple[Comparison, polars.DataFrame]:
        train, test = folds[number]
        model = job.fit(job.unfitted(), train, **_run_of(places[number], resume or again))
        comparison = job.compare(model, train, test)
        return comparison.plain(), prediction_table("id", job.task.tested(model, comparison))

    rest = range(1, len(folds))
    for group in [rest[place : place + 1] for place in range(len(rest))] if jobs is None else [rest]:
        for number in group:
            say(f"fold {number + 1} of {len(folds)}")
        tested += in_processes(
            further,
            group,
            jobs,
            names=[f"test {number + 1} of {len(folds)}" for number in group],
            stages=(group.start, pieces),
            folder=folder,
            show=bool(job.model.get_params(deep=False).get("verbose")),
        )
    comparisons, tables = [one for one, _ in tested], [table for _, table in tested]
    whole = comparisons[0] if len(comparisons) == 1 else job.task.pool(comparisons, job.seed)
    if job.refit:
        say(f"training the model on all {len(job.data):,} series")
        with stage("on all series", len(job.split.folds), len(job.split.folds) + 1):
            place = None if folder is None else _marked(folder / "refit")
            first = job.fit(first, None, **_run_of(place, resume))
        near = job.neighbours(first, None) if keep else None
    return Result(
        task=job.task,
        reason=job.reason,
        model=first,
        parts=job.parts,
        comparison=whole,
        predictions=polars.concat(tables),
        contents=replace(contents, comparison=whole),
        record=replace(record, test=whole.to_dict()),
        neighbours=near,
    )


def _places(folder: Path | None, folds: int) -> Iterator[Path | None]:
    """Yield the folder of the run of each fold: the folder itself, or one subfolder per fold."""
    for number in range(folds):
        yield folder if folder is None or folds == 1 else _marked(folder / f"fold-{number}")


def _marked(folder: Path) -> Path:
    """Return a folder of the run, which rank 0 creates if it does not exist."""
    return marked_folder(folder) if current().rank == 0 else folder


def _run_of(folder: Path | None, resume: bool) -> dict[str, Any]:
    return {} if folder is None else {"folder": folder, "resume": resume}
