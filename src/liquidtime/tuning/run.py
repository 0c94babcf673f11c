from __future__ import annotations

import functools
import hashlib
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from liquidtime._checks import check_size
from liquidtime.data import SeriesSet
from liquidtime.distributed import mapper_of
from liquidtime.estimators.network.budget import batch_size_of, quick_epochs
from liquidtime.evaluation.job_inputs import gathered
from liquidtime.evaluation.model_place import check_place
from liquidtime.evaluation.split import SplitRequest
from liquidtime.evaluation.train_and_test import train_and_test
from liquidtime.evaluation.training_job import TrainingJob
from liquidtime.tasks import Task
from liquidtime.tuning.result import SearchResult, TriedTrial
from liquidtime.tuning.space import space_of
from liquidtime.tuning.study import (
    SURPLUS,
    at_work,
    bury_dead,
    done,
    failures_named,
    open_storage,
    open_study,
    optuna_or_refuse,
    without_password,
)
from liquidtime.tuning.trials import CURVE, Material, Place, run_slot

_WAIT = 0.5
"""Seconds between two checks for trials of other processes."""


def search(
    data: SeriesSet,
    target: Any = None,
    *,
    trials: int = 50,
    space: Mapping[str, Any] | None = None,
    storage: str | None = None,
    name: str = "liquidtime",
    prune: bool = True,
    workers: int | None = None,
    cluster: str | None = None,
    task: str | Task | None = None,
    auxiliary: Any = None,
    groups: Any = None,
    order: Any = None,
    sample_weight: Any = None,
    test_share: float = 0.2,
    test: Any = None,
    test_after: Any = None,
    refit: bool = True,
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    restart: bool = False,
    log: Callable[[str], None] | None = None,
    verbose: bool = False,
    about: Mapping[str, Any] | None = None,
    **settings: Any,
) -> SearchResult:
    """Search for settings of networks inside the training part, then train and test one model with the best settings.

        result = lt.search(data, died, trials=50, storage="sqlite:///search.db", n_estimators=1)
        result.best, result.figures, result.model
        result.report("search.html")

    The series are split first, as in `lt.train_and_test`. Trials are trained on three quarters of the training part and
    compared by their loss on the rest of it at the end of their training; the test part is not passed to them. Optuna
    chooses their settings (TPE), and stops trials whose loss is worse than the median at the same fraction of their
    training. Calling this again with the same arguments continues a study that was stopped, until it has `trials`
    trials in total.

    Args:
        data: S series.
        target: see `lt.train_and_test`.
        trials: total number of trials.
        space: search space by names of settings: (low, high), "3e-4..1e-2:log", a list of values, or a `Range`; None
            for size, learning rate, epochs, dropout and weight decay.
        storage: URL of the database for the study, such as sqlite:///search.db on a local disk or
            postgresql://host/name, which several machines may share; None to keep it in memory.
        name: name of the study.
        prune: whether to stop trials that fall behind.
        workers: number of processes for trials, with one thread each; None for one, or on a cluster for one per CPU.
        cluster: Ray cluster for the trials, "ray://host:port", or "auto" on one of its machines; None for this machine.
            It needs a `storage` that all machines can reach.
        task: see `lt.train_and_test`.
        auxiliary: see `lt.train_and_test`.
        groups: see `lt.train_and_test`; no group is on both sides of the test or of a trial.
        order: see `lt.train_and_test`.
        sample_weight: see `lt.train_and_test`.
        test_share: see `lt.train_and_test`.
        test: see `lt.train_and_test`.
        test_after: see `lt.train_and_test`.
        refit: see `lt.train_and_test`.
        seed: random seed of the split, of all trials and of the final training.
        folder: model folder to which the model with the best settings is written.
        resume: resume an interrupted training of the model with the best settings.
        restart: discard an interrupted training of that model and start it over.
        log: function that is called with one line of text per stage.
        verbose: whether to show the number of finished trials.
        about: further arguments of `lt.train_and_test` for the report and the model folder.
        **settings: fixed settings of the task's estimator.

    Raises:
        ImportError: Optuna is not installed.
        ValueError: the space, the storage or the study cannot be used, or `lt.train_and_test` refuses an argument.
        ConnectionError: the database or the cluster cannot be reached.
        RuntimeError: no trial completed.

    """
    optuna_or_refuse()
    check_size("trials", trials)
    check_size("workers", 1 if workers is None else workers)
    if cluster is not None and (storage is None or storage.startswith("sqlite:")):
        raise ValueError(
            "a search on a cluster needs a study that all machines can reach: pass `storage` as postgresql://host/name"
        )
    say = log or (lambda line: None)
    if folder is not None:
        check_place(folder, resume=resume, restart=restart)
    whole, inputs, held, owners, taken = gathered(data, target, auxiliary, sample_weight, groups, order, test)
    request = SplitRequest(test_share, owners, held, test_after, None, taken)
    job = TrainingJob.planned(whole, inputs, task, None, request, refit, seed, settings, quick=True)
    material = _material(job, space_of(space, settings, job.model._get_param_names()), seed)
    with ExitStack() as stack:
        mapped = stack.enter_context(mapper_of(cluster))
        alone = cluster is None and workers in (None, 1)
        url = storage
        if url is None and not alone:
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="liquidtime-", ignore_cleanup_errors=True))
            url = f"sqlite:///{home}/search.db"
        place = Place(url, name, prune, _fingerprint(job, material), trials)
        storage_of_study = open_storage(url)
        stack.enter_context(failures_named(url))
        study = open_study(storage_of_study, name, seed, prune, place.fingerprint)
        dead = bury_dead(study)
        if dead:
            say(f"trial {', '.join(map(str, dead))} of an earlier process had not finished; repeating")
        left = max(0, trials - done(study))
        say(
            f"searching {len(material.space)} settings with {left} trials on {len(material.data):,} training series"
            + (f"; {trials - left} are already done" if left < trials else "")
        )
        while left > 0 or (url is not None and at_work(study)):  # trials of other processes that share the study
            if left > 0:
                first = len(study.get_trials(deepcopy=False))
                slots = list(range(first, first + left))
                work = functools.partial(_slot, material, place, study if alone else None)
                mapped(work, slots, workers, names=[f"trial {slot + 1}" for slot in slots], show=verbose)
            else:
                time.sleep(_WAIT)
            left = max(0, trials - done(study))
        ended = _tried(study)
        best = min((one for one in ended if one.loss is not None), key=lambda one: one.loss or 0.0, default=None)
        if best is None:
            raise RuntimeError(f"none of {len(ended)} trials finished; try smaller learning rates")
        importance = _importance(study)
    say(f"best of {len(ended)} trials: {_words(best.settings)} (held-out loss {best.loss:.4g})")
    estimator = clone(material.model).set_params(**best.settings, n_jobs=job.model.n_jobs, verbose=verbose)
    result = train_and_test(
        data,
        target,
        estimator=estimator,
        auxiliary=auxiliary,
        groups=groups,
        order=order,
        sample_weight=sample_weight,
        test_share=test_share,
        test=test,
        test_after=test_after,
        refit=refit,
        seed=seed,
        folder=folder,
        resume=resume,
        restart=restart,
        log=log,
        **(about or {}),
    )
    words = {setting: str(one) for setting, one in material.space.items()}
    shown = without_password(storage) if storage is not None else ""
    return SearchResult(best.settings, best.loss or 0.0, tuple(ended), importance, words, result, name, shown)


def _material(job: TrainingJob, space: Mapping[str, Any], seed: int) -> Material:
    """Return the training part of a job, without anything of the test part."""
    rows = job.parts["training"]
    inputs, split = job.inputs, job.split
    each = {"auxiliary": inputs.auxiliary, "sample_weight": inputs.weights}
    target = None if inputs.target is None else inputs.target[rows]
    model = clone(job.model).set_params(n_jobs=None)
    if model.epochs is None and "epochs" not in space:  # so that trials can be compared during training
        model.set_params(epochs=quick_epochs(len(rows), model.batch_size or batch_size_of(len(rows))))
    return Material(
        split.data[rows],
        target,
        {name: array[rows] for name, array in each.items() if array is not None and has_fit_parameter(job.model, name)},
        None if target is None else job.task.strata(target),
        None if split.groups is None or split.cut else split.groups[rows],
        None if split.order is None or split.cut else split.order[rows],
        model,
        space,
        seed,
    )


def _slot(material: Material, place: Place, study: Any, slot: int, again: bool) -> str:
    return run_slot(material, place, study)


def _tried(study: Any) -> list[TriedTrial]:
    return [
        TriedTrial(
            trial.number,
            trial.state.name.lower(),
            trial.value if trial.state.name == "COMPLETE" else None,
            dict(trial.params),
            tuple(trial.user_attrs.get(CURVE, ())),
            trial.duration.total_seconds() if trial.duration is not None else 0.0,
        )
        for trial in study.get_trials(deepcopy=False)
        if trial.state.is_finished() and not trial.user_attrs.get(SURPLUS)
    ]


def _importance(study: Any) -> dict[str, float]:
    optuna = optuna_or_refuse()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {name: float(share) for name, share in optuna.importance.get_param_importances(study).items()}
    except (ValueError, RuntimeError):  # too few trials, or all equal
        return {}


def _fingerprint(job: TrainingJob, material: Material) -> str:
    space = json.dumps({name: str(one) for name, one in material.space.items()}, sort_keys=True)
    return hashlib.sha256(f"{job.fingerprint()} {space}".encode()).hexdigest()


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in settings.items()
    )


__all__: Sequence[str] = ["search"]
