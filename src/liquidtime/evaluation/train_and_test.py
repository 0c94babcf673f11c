"""The main job: from series and targets to a trained, tested and reported model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from liquidtime.data import SeriesSet
from liquidtime.evaluation.insight import Neighbours
from liquidtime.evaluation.job_record import JobRecord
from liquidtime.evaluation.model_place import check_place
from liquidtime.evaluation.report_data import report_data
from liquidtime.evaluation.result import Result
from liquidtime.evaluation.training_job import TrainingJob
from liquidtime.tasks import Task
from liquidtime.tasks.prediction_table import prediction_table
from liquidtime.training.run_folder import RunFolder

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
    **settings: Any,
) -> Result:
    """Train a model on one part of the series and test it on the rest, beside the rivals of its task.

        result = lt.train_and_test(data, died, epochs=6)
        result                                shows the figures as a table
        result.report("report.html")
        result.save("model")

    Args:
        data: S series.
        target: (S,) or (S, K) what is to be predicted; None forecasts the series themselves.
        task: name of the task, such as "classify", "regress" or "forecast"; None takes the one that the target
            suggests: forecasts without a target; classes of texts, truth values and a few different whole numbers;
            values of other numbers. The result says which was taken.
        auxiliary: (S,), (S, K) or a data frame of auxiliary targets, NaN where not known, used in training only.
        estimator: an estimator of the task, which is copied; None for the task's own: without `settings` the stacked
            one where the task has one (`StackedClassifier`, `StackedRegressor`), with settings of networks those alone.
        quick: networks alone, one of them if `settings` say nothing else: seconds instead of minutes.
        test_share: share of the series that the model does not see and is tested on, in (0, 1). Forecasts of fewer
            than four series are tested on windows of this share of their samples, the last ones.
        seed: random seed of the split, the training, the rivals and the resamples; an estimator's own `random_state`
            takes precedence in its training.
        folder: model folder to write: model, report and job. While training, checkpoints are kept in
            `<folder>.run`. A model that is there is replaced and kept as `<folder>.previous`. None writes nothing.
        resume: continue a stopped run of the same `folder`, data and settings.
        restart: discard such a run and start over.
        target_name: name of the target, for the report and the model folder.
        auxiliary_names: names of the auxiliary targets, likewise.
        columns: the arguments of `from_long` or `from_wide` that `data` was read with, such as {"id": "patient",
            "time": "minutes", "channel": "name", "value": "value"}, for `liquidtime predict` to read other tables.
        labels_id: column of ids in the table of labels, likewise.
        title: title of the report.
        command: what was typed to make the result, for the report.
        attribution: whose data it is, for the report.
        log: called with one line of text per stage.
        keep_neighbours: keep the ids and outcomes of training series with the model, so that `lt.explain` can name
            those most similar to a new one.
        **settings: arguments of the task's estimator, such as `epochs` or `n_estimators`.

    Raises:
        TypeError: data that is not a `SeriesSet`, or a setting that the estimator does not have.
        ValueError: targets that do not belong to the series or the task, too few series to split, or settings that
            the estimator refuses.
        FileExistsError: `folder` holds other files, or a stopped run that is neither resumed nor discarded.
        FolderInUse: another run is at work there.

    """
    say = log or (lambda line: None)
    if folder is not None:
        check_place(folder, resume=resume, restart=restart)
    job = TrainingJob.planned(data, target, task, auxiliary, estimator, test_share, seed, settings, quick)
    if job.reason:
        say(f"task {job.task.name}, since {job.reason}")
    sizes = {name: len(rows) for name, rows in job.parts.items()}
    say(f"training on {sizes['training']:,} series, testing on {sizes['test']:,} that it does not see")
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
    )
    if folder is None:
        job.fit()
        return _test(job, record, texts, say, keep_neighbours)
    run = RunFolder(Path(folder))
    if resume and not run.path.exists():
        say(f"there is no {run.path.name} to resume; starting over")
    with run.held(job.fingerprint(), resume=resume, discard=restart):
        try:
            job.fit(folder=run.path, resume=resume)
        except Exception:
            if not run.has_checkpoint():  # nothing to resume
                run.clear()
            raise
        result = _test(job, record, texts, say, keep_neighbours)
        try:
            result.save(folder)
        except ImportError as error:
            say(f"no report: {error}")
            result.save(folder, report=False)
        strange = run.clear()
        if strange:
            say(f"{run.path} stays: it has {strange[0].name!r}, which no run wrote ({len(strange)} such in all)")
    return result


def _test(job: TrainingJob, record: JobRecord, texts: Mapping[str, str], say: Log, keep: bool) -> Result:
    """Return the result of a job whose model is fitted."""
    say("testing, beside baselines from the same training part")
    comparison = job.compare()
    say("looking inside the model")
    near = Neighbours.of(job.model, *job.part("training"), seed=job.seed) if keep else None
    return Result(
        task=job.task,
        reason=job.reason,
        model=job.model,
        parts=job.parts,
        comparison=comparison.plain(),
        predictions=prediction_table("id", job.task.tested(job.model, comparison)),
        contents=report_data(
            job.model, job.data, job.parts, comparison, task=job.task, neighbours=near, seed=job.seed, **texts
        ),
        record=replace(record, test=comparison.to_dict()),
        neighbours=near,
    )
